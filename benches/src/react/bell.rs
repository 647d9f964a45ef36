//! Waits until something in a folder is written, without looking again and again: whoever works needs the cores.

use anyhow::Result;
use std::path::Path;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(super) struct Bell {
    events: std::fs::File,
}

#[cfg(target_os = "linux")]
impl Bell {
    pub(super) fn of(folder: &Path) -> Result<Self> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let events = init(CreateFlags::CLOEXEC)?;
        add_watch(&events, folder, WatchFlags::MODIFY | WatchFlags::CREATE)?;
        Ok(Self { events: events.into() })
    }

    /// Waits for a write, no longer than this.
    pub(super) fn wait(&self, longest: Duration) -> Result<()> {
        self.rings(longest).map(drop)
    }

    /// Forgets what was written so far.
    pub(super) fn quieten(&self) -> Result<()> {
        while self.rings(Duration::ZERO)? {}
        Ok(())
    }

    fn rings(&self, longest: Duration) -> Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut ready = [PollFd::new(&self.events, PollFlags::IN)];
        if poll(&mut ready, Some(&Timespec::try_from(longest)?))? == 0 {
            return Ok(false);
        }
        Ok(std::io::Read::read(&mut &self.events, &mut [0; 4096])? > 0)
    }
}

/// Where nothing tells of writes, it rings all the time.
#[cfg(not(target_os = "linux"))]
pub(super) struct Bell;

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Linux")]
impl Bell {
    pub(super) fn of(_folder: &Path) -> Result<Self> {
        Ok(Self)
    }

    pub(super) fn wait(&self, _longest: Duration) -> Result<()> {
        std::thread::sleep(Duration::from_micros(50));
        Ok(())
    }

    pub(super) fn quieten(&self) -> Result<()> {
        Ok(())
    }
}
