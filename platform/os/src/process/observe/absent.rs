//! Stands in for the observer where the system has none.

use std::io;

use super::ObservedWrites;
use crate::process::spec::ChildSpec;

/// Cannot exist here.
pub(in crate::process) enum AbsentObserver {}

/// Cannot exist here.
pub(in crate::process) enum AbsentFilter {}

pub(in crate::process) fn is_possible() -> bool {
    false
}

pub(in crate::process) fn prepare(_spec: &ChildSpec) -> Option<(AbsentObserver, AbsentFilter)> {
    None
}

pub(in crate::process) fn is_fault(_error: &io::Error) -> bool {
    false
}

impl AbsentObserver {
    pub(in crate::process) fn finish(self) -> Option<ObservedWrites> {
        match self {}
    }
}

#[cfg(target_os = "linux")]
impl AbsentFilter {
    pub(in crate::process) fn enter(&self) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::process) fn kept_by_guardian(&self) -> std::os::fd::RawFd {
        match *self {}
    }
}
