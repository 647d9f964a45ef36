//! Whether the processes that hold entries of a queue are alive.

use dispatch_os::owner::Owner;

pub use dispatch_os::owner::Standing;

/// Tells owners that are alive from those that are gone.
pub trait OwnerLiveness: Send + Sync {
    /// What is known of an owner.
    fn standing(&self, owner: &str) -> Standing;
    /// Removes the traces of dead owners, except of those that still hold something.
    fn forget_dead(&self, _holders: &[String]) {}
}

/// By the lock files that living processes hold.
impl OwnerLiveness for Owner {
    fn standing(&self, owner: &str) -> Standing {
        Self::standing(self, owner)
    }

    fn forget_dead(&self, holders: &[String]) {
        Self::forget_dead(self, holders);
    }
}

/// By whatever a function knows, for simulated processes.
impl<F: Fn(&str) -> Standing + Send + Sync> OwnerLiveness for F {
    fn standing(&self, owner: &str) -> Standing {
        self(owner)
    }
}
