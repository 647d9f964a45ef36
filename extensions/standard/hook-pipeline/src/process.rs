//! The hook process: one event in on standard input, one answer out, and the end. The same code behind
//! `dispatch-hook` and `dispatch hook`.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use dispatch_hook_dialects::Reply;
use dispatch_hook_dialects::dialect::{self, Dialect, Hints, INPUT_LIMIT_BYTES};
use dispatch_hook_module::{Effects, EventName, HookEvent, Module, SystemClock};
use dispatch_os::files::{self, InputEnd};
use dispatch_os::{UserDirs, environment};

use crate::manifest::PipelineManifest;
use crate::rule_trust::RuleTrust;
use crate::run::{Invocation, ScriptModules, run, unjudged};
use crate::watch::{AlarmWatch, Watch as _};

/// How long to wait for more of a payload.
const QUIET_INPUT: Duration = Duration::from_secs(1);

/// What the command line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The event, in the host's spelling or ours.
    pub event: Option<String>,
    /// `--host NAME`.
    pub host: Option<String>,
}

impl Arguments {
    /// Reads `[EVENT] [--host NAME]`. Total: what it does not know it leaves out, because a host that
    /// passes something new must still get its answer.
    #[must_use]
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut read = Self::default();
        let mut words = arguments.into_iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            match word.strip_prefix("--host") {
                Some("") => read.host = words.next(),
                Some(value) if value.starts_with('=') => read.host = value.get(1..).map(str::to_owned),
                _ if word.starts_with('-') || read.event.is_some() => {}
                _ => read.event = Some(word),
            }
        }
        read
    }

    fn dialect(&self) -> &'static Dialect {
        let named = self.host.as_deref().and_then(dialect::by_name);
        named.or_else(|| dialect::by_name("native")).unwrap_or(dialect::ALL[0])
    }
}

/// What `--help` prints.
const HELP: &str = "Answers one hook event of a coding agent, read from standard input.\n\n\
Usage: dispatch-hook [EVENT] [--host NAME]\n\n\
Hosts start it; `dispatch init` registers it. `dispatch explain COMMAND` shows what it would answer.\n";

/// What the command line asks about the program itself. Only a first word counts, and no host passes one like it.
fn asked_about(words: &[OsString]) -> Option<String> {
    match words.first()?.to_str()? {
        "--help" | "-h" => Some(HELP.to_owned()),
        "--version" | "-V" => Some(format!("dispatch-hook {}\n", env!("CARGO_PKG_VERSION"))),
        _ => None,
    }
}

/// Reads the command line, handles the event on standard input and ends the process.
pub fn serve_command_line(
    words: impl IntoIterator<Item = OsString>,
    modules: &[&dyn Module],
    scripts: Option<&dyn ScriptModules>,
) -> ! {
    let words: Vec<OsString> = words.into_iter().collect();
    if let Some(text) = asked_about(&words) {
        AlarmWatch::answer(&Reply::plain(text.as_bytes()));
    }
    serve(&Arguments::read(words), modules, scripts)
}

/// Handles the event on standard input and ends the process.
pub fn serve(arguments: &Arguments, modules: &[&dyn Module], scripts: Option<&dyn ScriptModules>) -> ! {
    // Whatever a panic says would reach the host's screen; what it means is settled below.
    std::panic::set_hook(Box::new(|_| {}));
    let dialect = arguments.dialect();
    let event = arguments.event.as_deref().map_or(EventName::PreToolUse, |name| dialect.event_name(name));
    let go_on = dialect.go_on(&event);
    let watch = AlarmWatch::new(&go_on);
    let work = AssertUnwindSafe(|| answer(arguments, &event, modules, scripts, &watch));
    match catch_unwind(work) {
        Ok(reply) => AlarmWatch::answer(&reply),
        Err(_) => AlarmWatch::answer_prepared(),
    }
}

fn answer(
    arguments: &Arguments,
    event: &EventName,
    modules: &[&dyn Module],
    scripts: Option<&dyn ScriptModules>,
    watch: &AlarmWatch,
) -> Reply {
    // A payload that cannot be read is judged as one that makes no sense: the host goes on.
    let (payload, end) =
        files::read_standard_input(INPUT_LIMIT_BYTES, QUIET_INPUT).unwrap_or((Vec::new(), InputEnd::Reached));
    // Before the clock runs: until a guard has looked, a machine that stands still has judged nothing.
    let dialect = arguments.dialect();
    let unread = HookEvent::new(event.clone(), dialect.id(), event.as_str().to_owned(), serde_json::Value::Null);
    if let Some(refusal) = unjudged(dialect, &unread) {
        watch.prepare_unjudged(&refusal);
    }
    // The budget is for our own work, so it starts when the host's is done.
    let clock = SystemClock::start();
    watch.limit(Duration::from_millis(PipelineManifest::default_budget_ms(event)));
    let hints = Hints::collect(|name| environment::variable(name).ok().flatten());
    let hints = match environment::current_folder() {
        Ok(folder) => hints.with_process_cwd(folder.to_string_lossy()),
        Err(_) => hints,
    };
    let hints = match end {
        InputEnd::Reached => hints,
        InputEnd::TimedOut => hints.with_unfinished_input(),
    };
    let home = environment::variable("HOME").ok().flatten();
    // Without a home there are no rules of the user's own, and nothing is approved.
    let user = UserDirs::discover().ok();
    let trust_file = user.as_ref().map(|user| user.data.join("trust.json"));
    let outcome = run(&Invocation {
        host: arguments.host.as_deref(),
        event: arguments.event.as_deref(),
        stdin: &payload,
        hints: &hints,
        home: home.as_deref(),
        user: user.as_ref(),
        trust: trust_file.as_deref().map_or(RuleTrust::Nothing, RuleTrust::File),
        root: None,
        manifest: None,
        config: None,
        modules,
        scripts,
        clock: &clock,
        watch,
        effects: Effects::Commit,
    });
    outcome.reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read_whatever_it_says() {
        let cases: [(&[&str], Option<&str>, Option<&str>); 7] = [
            (&[], None, None),
            (&["PreToolUse"], Some("PreToolUse"), None),
            (&["PreToolUse", "--host", "codex"], Some("PreToolUse"), Some("codex")),
            (&["--host=codex", "Stop"], Some("Stop"), Some("codex")),
            (&["--host"], None, None),
            (&["--verbose", "Stop", "extra"], Some("Stop"), None),
            (&["--hostile", "Stop"], Some("Stop"), None),
        ];
        for (words, event, host) in cases {
            let read = Arguments::read(words.iter().map(OsString::from));
            assert_eq!((read.event.as_deref(), read.host.as_deref()), (event, host), "{words:?}");
        }
    }
}
