//! Tells when one of the files of the data folder that matter was replaced, without a message for every page that the
//! database beside them writes.

use std::ffi::OsStr;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::Arc;

/// The watch of a folder.
pub(super) struct RequestFiles {
    #[cfg(target_os = "linux")]
    finished: Arc<dispatch_os::files::FinishedFiles>,
}

#[cfg(target_os = "linux")]
impl RequestFiles {
    /// Watches on a thread of its own and tells which file was written, replaced or removed; `None` stands for any. It
    /// ends when nobody wants to hear more. Nothing where the system gives no such watch.
    pub(super) fn open(tell: impl Fn(Option<&OsStr>) -> Heard + Send + 'static) -> Option<Self> {
        let finished = Arc::new(dispatch_os::files::FinishedFiles::new().ok()?);
        let told = Arc::clone(&finished);
        let watch = move || {
            while let Ok(names) = told.wait() {
                let heard = match &names {
                    Some(names) => names.iter().map(|name| tell(Some(name))).fold(Heard::GoOn, Heard::and),
                    None => tell(None),
                };
                if heard == Heard::Enough {
                    return;
                }
            }
        };
        dispatch_os::threads::spawn("request-files", watch).ok()?;
        Some(Self { finished })
    }

    /// Watches a folder; `false` if that is not possible.
    pub(super) fn watch(&self, folder: &Path) -> bool {
        self.finished.watch(folder).is_ok()
    }
}

/// Elsewhere the watch of all folders tells of these files too.
#[cfg(not(target_os = "linux"))]
impl RequestFiles {
    pub(super) fn open(_tell: impl Fn(Option<&OsStr>) -> Heard + Send + 'static) -> Option<Self> {
        None
    }

    pub(super) fn watch(&self, _folder: &Path) -> bool {
        false
    }
}

/// Whether whoever was told wants to hear more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    GoOn,
    Enough,
}

impl Heard {
    #[cfg(target_os = "linux")]
    fn and(self, other: Self) -> Self {
        if self == Self::Enough { self } else { other }
    }
}
