//! `dispatch trace trailers`: what the hook of git runs on a commit message. It never stops a commit.

use super::Place;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use ext_intents::error::IntentsError;
use ext_intents::query::git::Git;
use ext_intents::query::trailers::Trailers;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct TrailersRequest {
    /// The file with the commit message
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(place: &Place, request: &TrailersRequest, printer: &Printer) -> Result<Status, Failure> {
    let Some(git) = place.git() else {
        printer.warn("no git repository here; the commit message is left as it is");
        return Ok(Status::Done);
    };
    // Git names the file from its own folder, which is where the hook runs.
    let file = dispatch_os::environment::current_folder()
        .map_or_else(|_| request.file.clone(), |folder| folder.join(&request.file));
    if let Err(error) = add(place, &git, &file) {
        printer.warn(&format!("the commit message names no intents: {error}"));
    }
    Ok(Status::Done)
}

fn add(place: &Place, git: &Git, file: &Path) -> Result<(), IntentsError> {
    if !place.layout.folder().is_dir() || git.is_merging() || git.is_empty_message(file)? {
        return Ok(());
    }
    Trailers::of_staged(&place.layout, git)?.write(git, file)
}
