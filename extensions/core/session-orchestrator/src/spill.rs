//! Outputs that are too large for a model, in owner-only files that a tool can read. They are kept in storage too, so
//! that a turn on another node finds them: what is missing there is written before the turn begins.

mod output_places;

use crate::contract::PastTurn;
use crate::turn_environment::TurnEnvironment;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::Chunk;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::ports::{Spill, SpillError};
use dispatch_os::OsError;
use dispatch_os::files::{self, Access, ReplaceOptions};
use dispatch_os::paths::safe_file_name;
use dispatch_redact::Redactor;
use output_places::{OutputPlace, places};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keeps texts in one folder per session.
pub(crate) struct SpillFolder<'a> {
    pub(crate) folder: PathBuf,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) turn: TurnId,
    pub(crate) environment: &'a TurnEnvironment,
}

impl Spill for SpillFolder<'_> {
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, SpillError>> {
        Box::pin(async move {
            let file = format!("{}.txt", safe_file_name(name));
            let text = self.redactor.redact(text).into_owned();
            let path = self.folder.join(&file);
            write(&path, text.as_bytes()).map_err(|error| SpillError(error.to_string()))?;
            let kept = self.environment.keep_output(&self.turn, &file, text.into_bytes()).await;
            kept.map_err(|error| SpillError(error.to_string()))?;
            Ok(path.display().to_string())
        })
    }
}

/// Writes the outputs that the past speaks of into this node's folder if they are not there, and names them by their
/// place here. What storage does not have stays as it was told.
pub(crate) async fn fetch_outputs(
    folder: &Path,
    mut past: Vec<PastTurn>,
    environment: &TurnEnvironment,
) -> Vec<PastTurn> {
    for PastTurn { turn, session, messages, .. } in &mut past {
        let folder = folder.join(session.as_str());
        for chunk in messages.iter_mut().flat_map(|message| &mut message.chunks) {
            let Chunk::ToolResult(result) = chunk else { continue };
            for place in places(&result.text, session.as_str()) {
                let here = folder.join(&place.file);
                if is_there(&here) || fetch(turn, &place, &here, environment).await {
                    result.text = result.text.replace(&place.told, &here.display().to_string());
                }
            }
        }
    }
    past
}

async fn fetch(turn: &TurnId, place: &OutputPlace, here: &Path, environment: &TurnEnvironment) -> bool {
    match environment.output(turn, &place.file).await {
        Ok(Some(bytes)) => write(here, &bytes).is_ok(),
        _ => false,
    }
}

fn is_there(path: &Path) -> bool {
    files::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// A file is there whole or not at all: another turn may read it at this moment.
fn write(path: &Path, bytes: &[u8]) -> Result<(), OsError> {
    files::create_dir_owner_only(path.parent().unwrap_or(path))?;
    let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
    files::replace_with(path, bytes, options)
}
