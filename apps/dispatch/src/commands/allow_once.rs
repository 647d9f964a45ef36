//! `dispatch allow-once`: the user lets one call pass a rule, or suspends the rule for a while, on record.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::time_span::TimeSpan;
use crate::workspace::Workspace;
use dispatch_contracts::suggest::nearest;
use dispatch_hook_module::{Paths, RuleException};
use dispatch_os::files::replace;
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_os::time;
use ext_hook_pipeline::contract::{check_work_folder, is_exception_used as is_used, rule_codes, rule_exceptions};
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
    /// The rule, as `dispatch why` names it, for example UB01; or `list`, or `revoke`
    #[arg(value_name = "CODE", required_unless_present = "list")]
    code: Option<String>,
    /// With `revoke`: the exception, by its id or its rule
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Suspend the rule for this long, at most 24h; default: one call, within 10 minutes
    #[arg(long = "for", value_name = "TIME")]
    span: Option<TimeSpan>,
    /// The reason, logged each time the exception is used
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// List the exceptions in force instead
    #[arg(long, conflicts_with_all = ["code", "span", "reason"])]
    list: bool,
    /// With `list`: print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(loaded: &Loaded, request: &AllowOnceRequest, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::with_rules(loaded)?;
    // The exceptions belong to no session; any name gives the paths of the workspace.
    let paths = workspace.paths("exceptions");
    let now_ms = time::unix_ms();
    match request.code.as_deref() {
        None | Some("list") => list(&holding(&paths, now_ms), now_ms, request.json.into(), printer)?,
        Some("revoke") => return revoke(loaded, &paths, request.id.as_deref(), now_ms, printer),
        Some(code) => {
            let exception = exception(code, request.span, &request.reason, now_ms)?;
            check_code(&exception.code, &rule_codes())?;
            let what = format!("let an agent pass the rule {}", exception.code);
            crate::policy_change::confirm(loaded, &what, printer)?;
            add(&paths, exception.clone(), now_ms)?;
            let until = time::rfc3339(exception.until);
            let RuleException { code, id, .. } = &exception;
            printer.out(&match request.span {
                None => format!("one call may pass {code} until {until} (id {id}); its use is logged"),
                Some(span) => format!("suspended {code} for {span}, until {until} (id {id}); every use is logged"),
            });
        }
    }
    Ok(Status::Done)
}

/// Takes back an exception, by its id or its rule.
fn revoke(
    loaded: &Loaded,
    paths: &Paths,
    wanted: Option<&str>,
    now_ms: i64,
    printer: &Printer,
) -> Result<Status, Failure> {
    let hint = "`dispatch allow-once list` shows the exceptions in force";
    let wanted = wanted.ok_or_else(|| Failure::usage("name the exception to revoke").hint(hint))?;
    crate::policy_change::confirm(loaded, &format!("revoke the exception {wanted}"), printer)?;
    let _lock = FileLock::acquire(&paths.exceptions_file().with_extension("lock"), LockKind::Exclusive, LOCK_WAIT)?;
    let mut kept = holding(paths, now_ms);
    let before = kept.len();
    kept.retain(|exception| exception.id != wanted && !exception.code.eq_ignore_ascii_case(wanted));
    if kept.len() == before {
        return Err(Failure::usage(format!("no exception `{wanted}` is in force")).hint(hint));
    }
    write(paths, &kept)?;
    printer.out(&format!("revoked {wanted}"));
    Ok(Status::Done)
}

fn write(paths: &Paths, exceptions: &[RuleException]) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&json!({ "exceptions": exceptions }))
        .map_err(|error| Failure::of(Status::Internal, &error))?;
    Ok(replace(&paths.exceptions_file(), format!("{text}\n").as_bytes())?)
}

/// The exception that is asked for, if it makes sense.
fn exception(code: &str, asked: Option<TimeSpan>, reason: &str, now_ms: i64) -> Result<RuleException, Failure> {
    let span = asked.unwrap_or(DEFAULT_SPAN);
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
    Ok(RuleException {
        id: dispatch_os::ids::hex_id(8),
        once: asked.is_none(),
        code,
        until: now_ms.saturating_add(span.ms()),
        reason: one_line(reason, MAX_REASON_CHARS),
    })
}

/// Refuses a code that looks like one of ours and is none; modules of the project may have codes of their own.
fn check_code(code: &str, known: &[&'static str]) -> Result<(), Failure> {
    let family = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let ours = known.iter().any(|other| family(other) == family(code));
    let near = nearest(code, known.iter().copied()).filter(|_| !code.contains(|c: char| c.is_ascii_digit()));
    if known.contains(&code) || (!ours && near.is_none()) {
        return Ok(());
    }
    let of_family: Vec<&str> = known.iter().copied().filter(|other| family(other) == family(code)).collect();
    let hint = match (near, of_family.as_slice()) {
        (_, [first, .., last]) => {
            format!("the rules of this kind are {first} to {last}; `dispatch why last` names the one that decided")
        }
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, _) => "`dispatch why last` names the rule that decided".to_owned(),
    };
    Err(Failure::usage(format!("unknown rule code `{code}`")).hint(hint))
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
    write(paths, &kept)
}

fn holding(paths: &Paths, now_ms: i64) -> Vec<RuleException> {
    let is_left = |exception: &RuleException| now_ms < exception.until && !is_used(paths, exception);
    rule_exceptions(paths).into_iter().filter(is_left).collect()
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
        let extent = if exception.once { "one call" } else { "every call" };
        vec![
            exception.id.clone(),
            code,
            extent.to_owned(),
            left,
            format!("until {}", time::rfc3339(exception.until)),
            one_line(&exception.reason, 100),
        ]
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
            assert_eq!(exception(code, Some(DEFAULT_SPAN), "", 0).unwrap().code, expected);
        }
        for wrong in ["", "U", "01", "UB 01", "../UB", "UB01;", "*", "Ü01", &"A".repeat(33)] {
            assert!(exception(wrong, Some(DEFAULT_SPAN), "", 0).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_code_of_ours_has_to_exist() {
        let known = ["UB01", "UB02", "SG01", "PHASE_POLICY"];
        for good in ["UB01", "PHASE_POLICY", "MY-RULE-1", "UX01"] {
            assert!(check_code(good, &known).is_ok(), "{good}");
        }
        for wrong in ["UB99", "SG77", "PHASE_POLCY"] {
            assert!(check_code(wrong, &known).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_exception_ends() {
        assert_eq!(exception("UB01", Some("2h".parse().unwrap()), " a\nb ", 5).unwrap().until, 7_200_005);
        assert_eq!(exception("UB01", Some(DEFAULT_SPAN), " a\nb ", 5).unwrap().reason, "a b");
        assert!(exception("UB01", Some("25h".parse().unwrap()), "", 0).is_err());
    }

    #[test]
    fn a_new_exception_replaces_the_old_one_of_its_rule_and_clears_what_ended() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path(), "exceptions");
        for (code, until) in [("UB01", 1_000), ("UB02", 9_000), ("ub01", 8_000)] {
            add(
                &paths,
                RuleException { id: code.to_owned(), once: false, code: code.to_owned(), until, reason: String::new() },
                500,
            )
            .unwrap();
        }
        let found = |now_ms| holding(&paths, now_ms).into_iter().map(|found| found.code).collect::<Vec<_>>();
        assert_eq!(found(500), ["UB02", "ub01"]);
        assert_eq!(found(8_500), ["UB02"]);
        assert_eq!(found(9_000), Vec::<String>::new());
    }
}
