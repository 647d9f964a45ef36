//! The adapters that are there, by channel.

use crate::contract::{ChannelAdapter, Channels};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The adapters.
#[derive(Default)]
pub(crate) struct ChannelRegistry {
    adapters: Mutex<BTreeMap<String, Arc<dyn ChannelAdapter>>>,
}

impl ChannelRegistry {
    fn adapters(&self) -> MutexGuard<'_, BTreeMap<String, Arc<dyn ChannelAdapter>>> {
        self.adapters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channels for ChannelRegistry {
    fn register(&self, adapter: Arc<dyn ChannelAdapter>) {
        let channel = adapter.channel().to_owned();
        self.adapters().insert(channel, adapter);
    }

    fn find(&self, channel: &str) -> Option<Arc<dyn ChannelAdapter>> {
        self.adapters().get(channel).cloned()
    }

    fn all(&self) -> Vec<Arc<dyn ChannelAdapter>> {
        self.adapters().values().cloned().collect()
    }
}
