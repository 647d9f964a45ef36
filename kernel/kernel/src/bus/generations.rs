//! Generations of subscribers: a change of the extensions begins a new one, and whoever began in an older one keeps it.

use super::Bus;
use super::subscription_table::RemovedSubscriptions;
use dispatch_contracts::ids::ExtensionId;

/// Subscriptions that only older generations have. They end when this is closed.
#[must_use]
pub(crate) struct RetiredSubscriptions(RemovedSubscriptions);

impl Bus {
    /// The present generation.
    pub(crate) fn generation(&self) -> u64 {
        self.shared.table().generation
    }

    /// The bus with the filters of the present generation, whatever comes after it.
    pub(crate) fn at_present(&self) -> Self {
        Self { view: Some(self.generation()), ..self.clone() }
    }

    /// Begins the next generation in one step: what was subscribed for it takes part, and what these extensions had does
    /// not any more.
    pub(crate) fn advance(&self, retired: &[ExtensionId]) -> RetiredSubscriptions {
        RetiredSubscriptions(self.shared.table().advance(retired))
    }

    /// Ends retired subscriptions.
    pub(crate) fn close(&self, retired: RetiredSubscriptions) {
        self.shared.table().forget(&retired.0);
        retired.0.close();
    }

    /// Takes back what an extension subscribed to for the next generation.
    pub(crate) fn remove_staged(&self, extension: &ExtensionId) {
        let removed = self.shared.table().remove_staged(extension);
        removed.close();
    }

    /// Forgets that an extension sleeps.
    pub(crate) fn forget_dormant(&self, extension: &ExtensionId) {
        let forgotten = self.shared.table().dormant.remove(extension);
        drop(forgotten);
    }
}
