//! Accounts of channels that do not work.

use super::{DoctorFinding, note, wrong};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_event_ledger::contract::{AccountState, CHANNELS};
use std::sync::Arc;

/// The accounts that stopped or wait. A database that cannot be opened is another line of the report.
pub(super) fn findings(loaded: &Loaded, extensions: &[Arc<dyn Extension>]) -> Vec<DoctorFinding> {
    let has_accounts = loaded.settings.iter().any(|(name, _)| name.starts_with("channels."));
    let running = if has_accounts { Running::look_at_events(loaded, extensions.to_vec()).ok() } else { None };
    let Some(running) = running else { return Vec::new() };
    let statuses = running.service(&CHANNELS).ok().and_then(|channels| running.block_on(channels.statuses()).ok());
    running.shutdown();
    let finding = |status: ext_event_ledger::contract::AccountStatus| {
        let detail = format!("{}:{}: {}", status.channel, status.account, status.reason.unwrap_or_default());
        let test = format!("dispatch channel test {} {}", status.channel, status.account);
        match status.state {
            AccountState::Stopped => Some(wrong("channel", detail, format!("then: {test}"))),
            AccountState::Waiting => Some(note("channel", detail, test)),
            AccountState::Connected | AccountState::Elsewhere => None,
        }
    };
    statuses.unwrap_or_default().into_iter().filter_map(finding).collect()
}
