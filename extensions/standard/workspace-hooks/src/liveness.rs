//! Which processes that hold runs are alive, by the lock files of their owners.

use crate::engine::{Census, Standing};
use dispatch_os::owner::Owner;

impl Census for Owner {
    fn standing(&self, owner: &str) -> Standing {
        Owner::standing(self, owner)
    }

    fn forget_dead(&self, holders: &[String]) {
        Owner::forget_dead(self, holders);
    }
}
