//! `dispatch watch --background` and `--stop`: a watcher without a terminal.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_os::process::start_detached;
use dispatch_os::time::Deadline;
use dispatch_os::{environment, threads};
use ext_workspace_hooks::contract::Workers;
use std::path::Path;
use std::time::Duration;

/// How long a watcher may take to begin or to end: it lets runs finish first.
const WAIT_MS: u64 = 30_000;
const LOOK: Duration = Duration::from_millis(50);

/// The watcher of a workspace that nobody sits in front of.
pub(super) struct BackgroundWatch<'a> {
    pub(super) workspace: &'a Path,
    pub(super) workers: &'a Workers,
}

impl BackgroundWatch<'_> {
    pub(super) fn start(&self, loaded: &Loaded, printer: &Printer) -> Result<Status, Failure> {
        let shown = self.workspace.display();
        if let Some(who) = self.workers.watcher(self.workspace) {
            printer.out(&format!("{shown} is already watched by {who}"));
            return Ok(Status::Done);
        }
        let arguments = ["watch".as_ref(), "--project".as_ref(), self.workspace.as_os_str()];
        start_detached(&environment::current_program()?, arguments, self.workspace, |_| false)?;
        let Some(who) = self.until(|| self.workers.ready_watcher(self.workspace)) else {
            return Err(Failure::internal(format!("the watcher of {shown} did not start"))
                .hint(format!("`dispatch watch` shows why; its log is in {}", loaded.dirs.state.display())));
        };
        printer.out(&format!("{shown} is watched by {who} in the background"));
        printer.note("hint: `dispatch runs follow` shows what it does, `dispatch watch --stop` ends it");
        Ok(Status::Done)
    }

    pub(super) fn stop(&self, printer: &Printer) -> Result<Status, Failure> {
        let shown = self.workspace.display();
        let Some(who) = self.workers.watcher(self.workspace) else {
            printer.out(&format!("nobody watches {shown}"));
            return Ok(Status::No);
        };
        self.workers.ask_to_stop(self.workspace)?;
        let gone = || self.workers.watcher(self.workspace).is_none().then_some(());
        if self.until(gone).is_none() {
            return Err(Failure::internal(format!("{who} still watches {shown}"))
                .hint("it may be busy with a run; try again, or end the process"));
        }
        printer.out(&format!("{who} no longer watches {shown}"));
        Ok(Status::Done)
    }

    fn until<T>(&self, look: impl Fn() -> Option<T>) -> Option<T> {
        let deadline = Deadline::after_ms(WAIT_MS);
        loop {
            match look() {
                None if !deadline.remaining().is_zero() => threads::sleep(LOOK),
                found => return found,
            }
        }
    }
}
