//! What must become of a turn, and of everybody else, when an extension does wrong.

use super::{failed, require, skipped};
use crate::fault::{ECHO_TOOL, InjectedFault, MARK, PROBE_TOOL};
use crate::scripted_turn::{BYSTANDER_TOOL, TurnRecord};
use crate::suite::{Outcome, Subject};
use crate::test_host::{NoTestHost, TestHost};
use dispatch_contracts::conversation::ResultStatus;
use dispatch_contracts::hooks::{TURN_STARTED, TurnRef, TurnStarted};
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::manifest::Trust;
use dispatch_contracts::turn::{TurnEnd, TurnEvent};
use dispatch_kernel::host::{BootError, ExtensionState, enable};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

/// How many events come at once.
const STORM: usize = 2_000;
/// How many faults switch an extension off.
const FAULTS: usize = 3;

/// The extension with a fault; otherwise how the check ends without it.
async fn faulty<'a>(subject: &'a Subject<'a>, fault: InjectedFault) -> Result<TestHost<'a>, Outcome> {
    TestHost::start(subject, Some(fault)).await.map_err(|no| no_host(&no))
}

fn no_host(no: &NoTestHost) -> Outcome {
    match no {
        NoTestHost::CannotHaveFault => skipped("no fault can be put into it: it is compiled in, or a program"),
        NoTestHost::NotMade(reason) => failed(reason),
        NoTestHost::Boot(error) => failed(error.to_string()),
    }
}

/// What is true after every turn that an extension must not harm.
fn ended_well(turn: &TurnRecord) -> Result<(), Outcome> {
    require(turn.end == TurnEnd::Finished, || format!("the turn ended as {:?}", turn.end))
}

pub(super) async fn not_started(subject: &Subject<'_>, fault: InjectedFault) -> Result<Outcome, Outcome> {
    let test = match TestHost::start(subject, Some(fault)).await {
        Ok(test) => test,
        // What belongs to the core is needed: the program says so and does not start.
        Err(NoTestHost::Boot(BootError::Core { extension, .. })) if extension.as_str() == subject.id => {
            return Ok(Outcome::Passed);
        }
        Err(no) => return Err(no_host(&no)),
    };
    let ExtensionState::Failed { reason } = test.state() else {
        return Err(failed(format!("it is {:?}", test.state())));
    };
    require(!reason.is_empty(), || "no reason is given".to_owned())?;
    let turn = test.call(BYSTANDER_TOOL, json!({})).await;
    ended_well(&turn)?;
    require(turn.text() == "it ran", || format!("another tool answered: {}", turn.text()))?;
    test.stop().await;
    Ok(Outcome::Passed)
}

pub(super) async fn call_refused(subject: &Subject<'_>, fault: InjectedFault) -> Result<Outcome, Outcome> {
    let test = faulty(subject, fault).await?;
    require(test.state() == ExtensionState::Active, || format!("it is {:?}", test.state()))?;
    let turn = test.call(BYSTANDER_TOOL, json!({})).await;
    ended_well(&turn)?;
    let status = turn.result.as_ref().map(|result| result.status);
    require(status == Some(ResultStatus::Denied), || format!("the call was {status:?}: {}", turn.text()))?;
    require(turn.text().contains(&subject.id), || format!("who refused it is not said: {}", turn.text()))?;
    test.stop().await;
    Ok(Outcome::Passed)
}

pub(super) async fn fault_counted(subject: &Subject<'_>, fault: InjectedFault) -> Result<Outcome, Outcome> {
    let test = faulty(subject, fault).await?;
    require(test.state() == ExtensionState::Active, || format!("it is {:?}", test.state()))?;
    let turn = test.call(BYSTANDER_TOOL, json!({})).await;
    ended_well(&turn)?;
    require(turn.text() == "it ran", || format!("another tool answered: {}", turn.text()))?;
    let counted = test.settles(|test| test.status().is_some_and(|status| status.faults > 0)).await;
    require(counted, || "no fault was counted".to_owned())?;
    require(test.said().contains(&subject.id), || format!("who failed is not said: {}", test.said()))?;
    test.stop().await;
    Ok(Outcome::Passed)
}

pub(super) async fn turn_ends(subject: &Subject<'_>, fault: InjectedFault) -> Result<Outcome, Outcome> {
    let test = faulty(subject, fault).await?;
    if let ExtensionState::Failed { reason } = test.state() {
        require(reason.contains(MARK), || reason.clone())?;
    }
    for tool in [PROBE_TOOL, BYSTANDER_TOOL] {
        ended_well(&test.call(tool, json!({})).await)?;
    }
    test.stop().await;
    Ok(Outcome::Passed)
}

pub(super) async fn call_fails(subject: &Subject<'_>, fault: InjectedFault) -> Result<Outcome, Outcome> {
    let test = faulty(subject, fault).await?;
    require(test.state() == ExtensionState::Active, || format!("it is {:?}", test.state()))?;
    let turn = match fault {
        InjectedFault::ToolCrashes => killed_call(&test).await,
        _ => test.call(PROBE_TOOL, json!({})).await,
    };
    ended_well(&turn)?;
    let status = turn.result.as_ref().map(|result| result.status);
    require(status == Some(ResultStatus::Failed), || format!("the call was {status:?}: {}", turn.text()))?;
    let in_process = test.made.worker_ids.is_none();
    let named = in_process || turn.text().contains(&subject.id);
    require(named, || format!("who failed is not said: {}", turn.text()))?;
    let again = test.call(ECHO_TOOL, json!({})).await;
    require(again.text() == "still here", || format!("afterwards it answered: {}", again.text()))?;
    test.stop().await;
    Ok(Outcome::Passed)
}

/// A call whose worker is killed once it prints.
async fn killed_call(test: &TestHost<'_>) -> TurnRecord {
    let workers = test.made.worker_ids.as_ref().map(|ids| ids()).unwrap_or_default();
    let left = Mutex::new(workers);
    let watch = Arc::new(move |event: TurnEvent| {
        if matches!(event, TurnEvent::CallOutput { .. }) {
            let ids = std::mem::take(&mut *left.lock().unwrap_or_else(PoisonError::into_inner));
            ids.into_iter().for_each(kill);
        }
    });
    test.call_watched(PROBE_TOOL, json!({}), watch).await
}

fn kill(process: u32) {
    // If the process lives on, the call runs into its deadline and the check says so.
    let _ = dispatch_os::process::command("kill").args(["-9", &process.to_string()]).status();
}

pub(super) async fn refused(
    subject: &Subject<'_>,
    fault: InjectedFault,
    words: &'static str,
) -> Result<Outcome, Outcome> {
    if subject.trust == Trust::Bundled && matches!(fault, InjectedFault::Ungranted(_)) {
        return Ok(skipped("what ships with the program has what its manifest asks for"));
    }
    let test = match TestHost::start(subject, Some(fault)).await {
        Ok(test) => test,
        Err(NoTestHost::Boot(BootError::Core { extension, reason })) if extension.as_str() == subject.id => {
            require(reason.contains(words), || reason.clone())?;
            return Ok(Outcome::Passed);
        }
        Err(no) => return Err(no_host(&no)),
    };
    if let ExtensionState::Failed { reason } = test.state() {
        // It needs the capability to start at all, and was told so.
        require(reason.contains(words), || reason.clone())?;
        return Ok(Outcome::Passed);
    }
    let turn = test.call(PROBE_TOOL, json!({})).await;
    ended_well(&turn)?;
    require(turn.text().contains(words), || format!("it was told: {}", turn.text()))?;
    test.stop().await;
    Ok(Outcome::Passed)
}

pub(super) async fn storm(subject: &Subject<'_>) -> Result<Outcome, Outcome> {
    let test = faulty(subject, InjectedFault::SlowEvents).await?;
    require(test.state() == ExtensionState::Active, || format!("it is {:?}", test.state()))?;
    let workdir = subject.folders.workdir.clone();
    let turn = TurnRef { session: "compliance".into(), turn: TurnId::new("storm"), workdir };
    for _ in 0..STORM {
        test.host.bus().emit(&TURN_STARTED, TurnStarted { turn: turn.clone(), model: "scripted".to_owned() });
    }
    let turn = test.call(BYSTANDER_TOOL, json!({})).await;
    ended_well(&turn)?;
    require(turn.text() == "it ran", || format!("another tool answered: {}", turn.text()))?;
    test.stop().await;
    Ok(Outcome::Passed)
}

/// A filter of requests that throws is a fault of every kind of extension, and each turn makes more than one request.
pub(super) async fn three_faults(subject: &Subject<'_>) -> Result<Outcome, Outcome> {
    let fault = InjectedFault::RequestThrows;
    let test = faulty(subject, fault).await?;
    if test.status().and_then(|status| status.tier) == Some(dispatch_contracts::manifest::Tier::Core) {
        return Ok(skipped("the core is never disabled: its first fault stops the turn"));
    }
    for _ in 0..FAULTS {
        ended_well(&test.call(BYSTANDER_TOOL, json!({})).await)?;
    }
    let off = test.settles(|test| matches!(test.state(), ExtensionState::Disabled { .. })).await;
    require(off, || format!("after {FAULTS} faults it is {:?}", test.state()))?;
    let kept = Arc::clone(&test.disabled);
    test.stop().await;
    let again = TestHost::start_with(subject, Some(fault), Arc::clone(&kept)).await.map_err(|no| no_host(&no))?;
    let stays = matches!(again.state(), ExtensionState::Disabled { .. });
    require(stays, || format!("after another start it is {:?}", again.state()))?;
    again.stop().await;
    enable(kept.as_ref(), &subject.id.as_str().into()).await.map_err(|error| failed(error.to_string()))?;
    let back = TestHost::start_with(subject, Some(fault), kept).await.map_err(|no| no_host(&no))?;
    require(back.state() == ExtensionState::Active, || format!("after it was enabled it is {:?}", back.state()))?;
    back.stop().await;
    Ok(Outcome::Passed)
}
