//! `dispatch rules`: the rules of one's own in `config.json`, and what they say about a call.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::{EventName, HookEvent, USER_HOOKS_FOLDER, classify};
use dispatch_os::{environment, files};
use dispatch_trust::Trust;
use ext_hook_pipeline::contract::{Config, OWN_RULES, OwnRule, OwnRuleAnswer, OwnRules, RuleOwner, RuledCall};
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;

const CONFIG: &str = "config.json";
/// The tools that a plain command and a plain path stand for.
const COMMAND_TOOL: &str = "Bash";
const PATH_TOOL: &str = "Write";
const HOST: &str = "claude-code";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum RulesCommand {
    /// List the rules of the project and of the user
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Show which rules match a call and what they come to
    Test(RulesTestRequest),
}

#[derive(Debug, clap::Args)]
pub(crate) struct RulesTestRequest {
    /// The shell command
    #[arg(value_name = "COMMAND", required_unless_present_any = ["path", "tool"])]
    command: Option<String>,
    /// A file that the call changes
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    path: Option<String>,
    /// The tool, as the host spells it; default: Bash for a command, Write for a path
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The rules of one file.
struct RuleFile {
    path: PathBuf,
    owner: RuleOwner,
    config: Config,
    /// Whether what permits something holds: the user's own file, or an approved one.
    is_approved: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedRule {
    file: String,
    #[serde(flatten)]
    rule: OwnRule,
    in_force: bool,
}

pub(crate) fn run(loaded: &Loaded, command: &RulesCommand, printer: &Printer) -> Result<Status, Failure> {
    let files = rule_files(loaded);
    match command {
        RulesCommand::List { json } => list(&files, (*json).into(), printer),
        RulesCommand::Test(request) => test(loaded, &files, request, printer),
    }
}

fn rule_files(loaded: &Loaded) -> Vec<RuleFile> {
    let project = Workspace::of(loaded).paths("rules").hooks_root.join(CONFIG);
    let user = loaded.dirs.config.join(USER_HOOKS_FOLDER).join(CONFIG);
    let read = |(path, owner): (PathBuf, RuleOwner)| {
        let bytes = files::read(&path).ok()?;
        let is_approved = owner == RuleOwner::User || Trust::load(&loaded.trust_file).is_approved(&bytes);
        Some(RuleFile { path, owner, config: Config::parse(&bytes).0, is_approved })
    };
    [(project, RuleOwner::Project), (user, RuleOwner::User)].into_iter().filter_map(read).collect()
}

fn listed(files: &[RuleFile]) -> Vec<ListedRule> {
    let of_file = |file: &RuleFile| {
        let shown = file.path.display().to_string();
        let in_force = |rule: &OwnRule| file.is_approved || rule.then > OwnRuleAnswer::Allow;
        let rules = OwnRules::of(file.config.section(OWN_RULES), file.owner).into_rules();
        rules.map(|rule| ListedRule { file: shown.clone(), in_force: in_force(&rule), rule }).collect::<Vec<_>>()
    };
    files.iter().flat_map(of_file).collect()
}

fn list(files: &[RuleFile], format: Format, printer: &Printer) -> Result<Status, Failure> {
    let rules = listed(files);
    match format {
        Format::Json => printer.json(&json!({ "rules": rules }))?,
        Format::Text if rules.is_empty() => printer.out("no rules of your own; docs/guard.md shows how to write one"),
        Format::Text => printer.out(&table(&rules.iter().map(row).collect::<Vec<_>>())),
    }
    Ok(Status::Done)
}

fn row(rule: &ListedRule) -> Vec<String> {
    let note = if rule.in_force { String::new() } else { "not in force until `dispatch trust`".to_owned() };
    vec![word(rule.rule.then).to_owned(), condition(&rule.rule), rule.rule.because.clone(), rule.file.clone(), note]
}

fn condition(rule: &OwnRule) -> String {
    let parts = [("command", &rule.when.command), ("path", &rule.when.path), ("tool", &rule.when.tool)];
    let given = parts.into_iter().filter_map(|(name, value)| value.as_ref().map(|value| format!("{name} `{value}`")));
    given.collect::<Vec<_>>().join(" and ")
}

fn test(loaded: &Loaded, files: &[RuleFile], request: &RulesTestRequest, printer: &Printer) -> Result<Status, Failure> {
    let home = environment::variable("HOME").ok().flatten();
    let event = event(loaded, request);
    let call = classify(&event, home.as_deref());
    let workspace = Workspace::of(loaded);
    let ruled = RuledCall {
        tool: event.tool_name.as_deref().unwrap_or_default(),
        call: call.as_ref(),
        root: &workspace.root,
        home: home.as_deref(),
    };
    let matching: Vec<ListedRule> = listed(files)
        .into_iter()
        .filter(|listed| OwnRules::single(listed.rule.clone()).matching(&ruled).next().is_some())
        .collect();
    let decision = matching.iter().filter(|listed| listed.in_force).map(|listed| listed.rule.then).max();
    let decision = decision.map_or("none", word);
    match Format::from(request.json) {
        Format::Json => printer.json(&json!({ "decision": decision, "matching": matching }))?,
        Format::Text if matching.is_empty() => {
            printer.out("no rule of your own matches; `dispatch explain` shows what the guards say");
        }
        Format::Text => {
            printer.out(&table(&matching.iter().map(row).collect::<Vec<_>>()));
            printer.out(&format!("your rules say: {decision}"));
        }
    }
    Ok(Status::Done)
}

/// The event of a host that is about to make this call here.
fn event(loaded: &Loaded, request: &RulesTestRequest) -> HookEvent {
    let mut event = HookEvent::new(EventName::PreToolUse, HOST, "PreToolUse".to_owned(), json!({}));
    let plain = if request.path.is_some() { PATH_TOOL } else { COMMAND_TOOL };
    event.cwd = Some(loaded.start.to_string_lossy().into_owned());
    event.tool_name = Some(request.tool.clone().unwrap_or_else(|| plain.to_owned()));
    event.tool_input = match (&request.command, &request.path) {
        (Some(command), _) => json!({ "command": command }),
        (None, Some(path)) => json!({ "file_path": path, "content": "" }),
        (None, None) => json!({}),
    };
    event
}

fn word(then: OwnRuleAnswer) -> &'static str {
    match then {
        OwnRuleAnswer::Grant => "grant",
        OwnRuleAnswer::Allow => "allow",
        OwnRuleAnswer::Ask => "ask",
        OwnRuleAnswer::Deny => "deny",
    }
}
