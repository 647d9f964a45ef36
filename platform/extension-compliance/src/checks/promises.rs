//! What an extension promises by being one.

use super::{failed, require, skipped};
use crate::suite::{Outcome, Subject};
use crate::test_host::{NoTestHost, TestHost};
use dispatch_contracts::manifest::Contributes;
use dispatch_contracts::turn::TurnEnd;
use dispatch_kernel::host::manifest::parse_from;
use dispatch_kernel::host::{ExtensionHost, ExtensionState};
use serde_json::json;

pub(super) fn manifest(subject: &Subject<'_>) -> Result<Outcome, Outcome> {
    let made = (subject.make)(None).map_err(failed)?.ok_or_else(|| failed("it cannot be made"))?;
    let parsed = parse_from(&made.extension.manifest(), subject.trust);
    parsed
        .map(|_| Outcome::Passed)
        .map_err(|problems| failed(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
}

/// The extension as it is.
async fn started<'a>(subject: &'a Subject<'a>) -> Result<TestHost<'a>, Outcome> {
    let test = TestHost::start(subject, None).await.map_err(|no| match no {
        NoTestHost::CannotHaveFault => failed("it cannot be made"),
        NoTestHost::NotMade(reason) => failed(reason),
        NoTestHost::Boot(error) => failed(error.to_string()),
    })?;
    match test.state() {
        ExtensionState::Active | ExtensionState::Lazy => Ok(test),
        ExtensionState::Failed { reason }
        | ExtensionState::Skipped { reason }
        | ExtensionState::Disabled { reason } => Err(failed(reason)),
        other => Err(failed(format!("it is {other:?}"))),
    }
}

pub(super) async fn activates(subject: &Subject<'_>) -> Result<Outcome, Outcome> {
    let test = started(subject).await?;
    if test.state() == ExtensionState::Lazy {
        return Ok(skipped("it starts when a hook needs it"));
    }
    let declared = test.status().map(|status| status.contributes).unwrap_or_default();
    let added = registered(&test.host, &subject.id);
    let declared = declared_names(&declared, &subject.id);
    let missing: Vec<String> = declared.into_iter().filter(|name| !added.contains(name)).collect();
    test.stop().await;
    require(missing.is_empty(), || format!("the manifest names what it does not add: {}", missing.join(", ")))?;
    Ok(Outcome::Passed)
}

pub(super) async fn deactivates(subject: &Subject<'_>) -> Result<Outcome, Outcome> {
    let test = started(subject).await?;
    let host = test.host.clone();
    test.stop().await;
    let status = host.status().into_iter().find(|status| status.id.as_str() == subject.id);
    let fault = status.and_then(|status| status.last_fault);
    require(fault.is_none(), || fault.map(|fault| fault.to_string()).unwrap_or_default())?;
    let left = registered(&host, &subject.id);
    require(left.is_empty(), || format!("it left {}", left.join(", ")))?;
    Ok(Outcome::Passed)
}

pub(super) async fn registers_the_same(subject: &Subject<'_>) -> Result<Outcome, Outcome> {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let test = started(subject).await?;
        seen.push(registered(&test.host, &subject.id));
        test.stop().await;
    }
    require(seen.first() == seen.last(), || format!("first {:?}, then {:?}", seen.first(), seen.last()))?;
    Ok(Outcome::Passed)
}

/// Each tool is called with nothing and with nonsense. Nothing is granted to an extension from outside here, so its
/// tools change nothing; those of our own and of separate programs are not called, because they would.
pub(super) async fn tools_answer(subject: &Subject<'_>) -> Result<Outcome, Outcome> {
    let test = started(subject).await?;
    if test.made.worker_ids.is_none() {
        test.stop().await;
        return Ok(skipped("its tools are compiled in or a program's, and may change files"));
    }
    let tools = test.host.tools().into_iter().filter(|tool| tool.owner.as_str() == subject.id);
    for name in tools.map(|tool| tool.name).collect::<Vec<_>>() {
        for arguments in [json!({}), json!({ "compliance": [null, { "deep": [[]] }, -1.5, "\u{0}"] }), json!("text")] {
            let turn = test.call(&name, arguments.clone()).await;
            require(turn.end == TurnEnd::Finished, || {
                format!("`{name}` with {arguments}: the turn ended as {:?}", turn.end)
            })?;
            let faults = test.status().map_or(0, |status| status.faults);
            require(faults == 0, || format!("`{name}` with {arguments}: {}", test.said()))?;
        }
    }
    test.stop().await;
    Ok(Outcome::Passed)
}

/// What the manifest names, as `kind name`. A service that another one owns may be left to another extension.
fn declared_names(declared: &Contributes, id: &str) -> Vec<String> {
    let own = format!("{id}/");
    let services: Vec<String> = declared.services.iter().filter(|name| name.starts_with(&own)).cloned().collect();
    let kinds = [
        ("tool", &declared.tools),
        ("provider", &declared.providers),
        ("auth", &declared.auth),
        ("route", &declared.routes),
        ("command", &declared.commands),
        ("job", &declared.jobs),
        ("service", &services),
    ];
    kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| format!("{kind} {name}"))).collect()
}

/// What an extension added, as `kind name`.
fn registered(host: &ExtensionHost, id: &str) -> Vec<String> {
    let mut all = Vec::new();
    macro_rules! collect {
        ($($kind:literal: $list:expr),+ $(,)?) => {
            $(all.extend($list.into_iter().filter(|it| it.owner.as_str() == id).map(|it| format!("{} {}", $kind, it.name)));)+
        };
    }
    collect!(
        "tool": host.tools(),
        "provider": host.providers(),
        "auth": host.auth(),
        "route": host.routes(),
        "route": host.raw_routes(),
        "command": host.commands(),
        "job": host.jobs(),
        "service": host.services(),
    );
    all
}
