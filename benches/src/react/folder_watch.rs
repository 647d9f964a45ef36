//! Waits until something in a folder is written, without polling: the program under measurement needs the cores.

use anyhow::Result;
use std::path::Path;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(super) use InotifyWatch as FolderWatch;
#[cfg(not(target_os = "linux"))]
pub(super) use PollingWatch as FolderWatch;

#[cfg(target_os = "linux")]
pub(super) struct InotifyWatch {
    events: std::fs::File,
}

#[cfg(target_os = "linux")]
impl InotifyWatch {
    pub(super) fn of(folder: &Path) -> Result<Self> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let events = init(CreateFlags::CLOEXEC)?;
        add_watch(&events, folder, WatchFlags::MODIFY | WatchFlags::CREATE)?;
        Ok(Self { events: events.into() })
    }

    /// Waits for a write, no longer than this.
    pub(super) fn wait(&self, longest: Duration) -> Result<()> {
        self.was_written(longest).map(drop)
    }

    /// Forgets what was written so far.
    pub(super) fn forget(&self) -> Result<()> {
        while self.was_written(Duration::ZERO)? {}
        Ok(())
    }

    fn was_written(&self, longest: Duration) -> Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut ready = [PollFd::new(&self.events, PollFlags::IN)];
        if poll(&mut ready, Some(&Timespec::try_from(longest)?))? == 0 {
            return Ok(false);
        }
        Ok(std::io::Read::read(&mut &self.events, &mut [0; 4096])? > 0)
    }
}

/// Where the system reports no writes, every wait ends after a moment.
#[cfg(not(target_os = "linux"))]
pub(super) struct PollingWatch;

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Linux")]
impl PollingWatch {
    pub(super) fn of(_folder: &Path) -> Result<Self> {
        Ok(Self)
    }

    pub(super) fn wait(&self, _longest: Duration) -> Result<()> {
        std::thread::sleep(Duration::from_micros(50));
        Ok(())
    }

    pub(super) fn forget(&self) -> Result<()> {
        Ok(())
    }
}
