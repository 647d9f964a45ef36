//! `dispatch allow-once`: the user lets one rule pass for a while, on record.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::time_span::TimeSpan;
use crate::workspace::Workspace;
use dispatch_hook_module::{Paths, RuleException};
use dispatch_os::files::replace;
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_os::time;
use ext_hook_pipeline::contract::{check_work_folder, rule_exceptions};
use serde_json::json;
use std::time::Duration;

/// How long an exception holds unless something else is said.
const DEFAULT_SPAN: TimeSpan = TimeSpan::minutes(10);
/// The longest exception; what should hold longer belongs into the configuration.
const MAX_SPAN: TimeSpan = TimeSpan::minutes(24 * 60);
/// Rules that are excused at one time.
const MAX_EXCEPTIONS: usize = 256;
const MAX_CODE_BYTES: usize = 32;
const MAX_REASON_CHARS: usize = 300;
/// How long to wait for another `dispatch allow-once`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(crate) struct AllowOnceRequest {
    /// The rule, as `dispatch why` names it, for example UB01
    #[arg(value_name = "CODE", required_unless_present = "list")]
    code: Option<String>,
    /// How long the rule is suspended, at most 24h
    #[arg(long = "for", value_name = "TIME", default_value_t = DEFAULT_SPAN)]
    span: TimeSpan,
    /// The reason, logged each time the exception is used
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// List the exceptions in force instead
    #[arg(long, conflicts_with_all = ["code", "span", "reason"])]
    list: bool,
    /// With --list: print one JSON object instead of text
    #[arg(long, requires = "list")]
    json: bool,
}

pub(crate) fn run(loaded: &Loaded, request: &AllowOnceRequest, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::with_rules(loaded)?;
    // The exceptions belong to no session; any name gives the paths of the workspace.
    let paths = workspace.paths("exceptions");
    let now_ms = time::unix_ms();
    match &request.code {
        Some(code) => {
            let exception = exception(code, request.span, &request.reason, now_ms)?;
            add(&paths, exception.clone(), now_ms)?;
            let until = time::rfc3339(exception.until);
            let (code, span) = (&exception.code, request.span);
            printer.out(&format!("suspended {code} for {span}, until {until}; every use is logged"));
        }
        None => list(&holding(&paths, now_ms), now_ms, request.json.into(), printer)?,
    }
    Ok(Status::Done)
}

/// The exception that is asked for, if it makes sense.
fn exception(code: &str, span: TimeSpan, reason: &str, now_ms: i64) -> Result<RuleException, Failure> {
    let code = code.to_ascii_uppercase();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let begins = code.starts_with(|first: char| first.is_ascii_alphabetic());
    if !begins || !(2..=MAX_CODE_BYTES).contains(&code.len()) || !code.bytes().all(plain) {
        return Err(Failure::usage(format!("invalid rule code `{code}`"))
            .hint("`dispatch why last` names the rule that decided, for example UB01"));
    }
    if span > MAX_SPAN {
        return Err(Failure::usage(format!("an exception lasts at most {MAX_SPAN}"))
            .hint("to change the rule for good, see `dispatch why`, which names its setting"));
    }
    Ok(RuleException { code, until: now_ms.saturating_add(span.ms()), reason: one_line(reason, MAX_REASON_CHARS) })
}

/// Adds an exception in place of an earlier one for the same rule; those that ended go.
fn add(paths: &Paths, exception: RuleException, now_ms: i64) -> Result<(), Failure> {
    check_work_folder(paths)?;
    let folder = &paths.work_root;
    dispatch_os::files::create_dir_all(folder)
        .map_err(|error| Failure::internal(format!("cannot create {}", folder.display())).caused_by(&error))?;
    let file = paths.exceptions_file();
    let _lock = FileLock::acquire(&file.with_extension("lock"), LockKind::Exclusive, LOCK_WAIT)?;
    let mut kept = holding(paths, now_ms);
    kept.retain(|other| !other.code.eq_ignore_ascii_case(&exception.code));
    if kept.len() >= MAX_EXCEPTIONS {
        return Err(
            Failure::usage(format!("{MAX_EXCEPTIONS} exceptions are in force, the limit")).hint("wait until one ends")
        );
    }
    kept.push(exception);
    let text = serde_json::to_string_pretty(&json!({ "exceptions": kept }))
        .map_err(|error| Failure::of(Status::Internal, &error))?;
    Ok(replace(&file, format!("{text}\n").as_bytes())?)
}

fn holding(paths: &Paths, now_ms: i64) -> Vec<RuleException> {
    rule_exceptions(paths).into_iter().filter(|exception| now_ms < exception.until).collect()
}

fn list(exceptions: &[RuleException], now_ms: i64, format: Format, printer: &Printer) -> Result<(), Failure> {
    if format == Format::Json {
        return printer.json(&json!({ "exceptions": exceptions }));
    }
    if exceptions.is_empty() {
        printer.out("no exceptions in force");
        return Ok(());
    }
    let row = |exception: &RuleException| {
        let left = format!("{} left", TimeSpan::from_ms(exception.until - now_ms));
        let code = one_line(&exception.code, MAX_CODE_BYTES);
        vec![code, left, format!("until {}", time::rfc3339(exception.until)), one_line(&exception.reason, 100)]
    };
    printer.out(&table(&exceptions.iter().map(row).collect::<Vec<_>>()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_the_shape_of_one() {
        for (code, expected) in [("ub01", "UB01"), ("PHASE_POLICY", "PHASE_POLICY"), ("my-rule-1", "MY-RULE-1")] {
            assert_eq!(exception(code, DEFAULT_SPAN, "", 0).unwrap().code, expected);
        }
        for wrong in ["", "U", "01", "UB 01", "../UB", "UB01;", "*", "Ü01", &"A".repeat(33)] {
            assert!(exception(wrong, DEFAULT_SPAN, "", 0).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_exception_ends() {
        assert_eq!(exception("UB01", "2h".parse().unwrap(), " a\nb ", 5).unwrap().until, 7_200_005);
        assert_eq!(exception("UB01", DEFAULT_SPAN, " a\nb ", 5).unwrap().reason, "a b");
        assert!(exception("UB01", "25h".parse().unwrap(), "", 0).is_err());
    }

    #[test]
    fn a_new_exception_replaces_the_old_one_of_its_rule_and_clears_what_ended() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path(), "exceptions");
        for (code, until) in [("UB01", 1_000), ("UB02", 9_000), ("ub01", 8_000)] {
            add(&paths, RuleException { code: code.to_owned(), until, reason: String::new() }, 500).unwrap();
        }
        let found = |now_ms| holding(&paths, now_ms).into_iter().map(|found| found.code).collect::<Vec<_>>();
        assert_eq!(found(500), ["UB02", "ub01"]);
        assert_eq!(found(8_500), ["UB02"]);
        assert_eq!(found(9_000), Vec::<String>::new());
    }
}
