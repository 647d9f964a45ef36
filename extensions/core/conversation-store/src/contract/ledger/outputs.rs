//! Outputs that were too large for the model, kept with the turn that made them, so that every process can read them.

use super::turns::{check_fence, load_turn};
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Record, SqlValue, Statement, StorageError, Transaction};

/// The most bytes of one output that are kept.
pub const MAX_OUTPUT_BYTES: usize = 32 * 1024 * 1024;
/// The bytes in one row.
const PART_BYTES: usize = 128 * 1024;

/// Keeps an output under its name. What an earlier try left is replaced; what is larger than [`MAX_OUTPUT_BYTES`] is cut.
pub fn keep_output(
    tx: &mut dyn Transaction,
    turn: &TurnId,
    fence: u64,
    name: &str,
    bytes: &[u8],
) -> Result<(), StorageError> {
    let known = load_turn(tx, turn)?.ok_or_else(|| StorageError::GivenUp(format!("there is no turn `{turn}`")))?;
    check_fence(&known, fence)?;
    tx.execute(&statement!("DELETE FROM agent_outputs WHERE turn = ?1 AND name = ?2", turn, name))?;
    let kept = bytes.get(..MAX_OUTPUT_BYTES).unwrap_or(bytes);
    for (part, bytes) in (0_u32..).zip(kept.chunks(PART_BYTES)) {
        tx.execute(&statement!(
            "INSERT INTO agent_outputs (turn, name, part, body) VALUES (?1, ?2, ?3, ?4)",
            turn,
            name,
            part,
            bytes.to_vec()
        ))?;
    }
    Ok(())
}

/// The query for an output; [`joined`] makes it whole.
pub(crate) fn output(turn: &TurnId, name: &str) -> Statement {
    statement!("SELECT body FROM agent_outputs WHERE turn = ?1 AND name = ?2 ORDER BY part", turn, name)
}

/// The parts of an output as one; none when nothing was kept.
pub(crate) fn joined(parts: Vec<Record>) -> Option<Vec<u8>> {
    let blobs = parts.into_iter().flatten().filter_map(|value| match value {
        SqlValue::Blob(bytes) => Some(bytes),
        _ => None,
    });
    blobs.reduce(|mut whole, part| {
        whole.extend(part);
        whole
    })
}
