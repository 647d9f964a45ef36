//! Makes the state again from the log alone.

use serde_json::{Value, json};

use super::{SessionState, merge};
use crate::record::{Record, RecordType};

/// The state that these records imply, in the order of the log.
///
/// Every `HOOK_RUN` record carries the patch that its invocation applied; the number of `PROMPT`
/// records is the turn, whatever the patches say.
#[must_use]
pub fn rebuild<'a>(records: impl IntoIterator<Item = &'a Record>) -> SessionState {
    let mut state = SessionState::default();
    let mut prompts: u64 = 0;
    for record in records {
        prompts += u64::from(record.kind == RecordType::Prompt);
        if let Some(patch @ Value::Object(_)) = record.data.get("statePatch") {
            state = merge(&state, patch).0;
        }
    }
    if prompts > 0 {
        state = merge(&state, &json!({"core": {"lastTurnId": prompts}})).0;
    }
    state
}
