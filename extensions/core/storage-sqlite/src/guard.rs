//! Who may touch which table: asked by SQLite for every table and action while it compiles a statement.

mod rules;

use rules::{TableVerdict, decide};
use rusqlite::Connection;
use rusqlite::hooks::{AuthContext, Authorization};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tables of the backend itself begin with this; nobody else reaches them.
pub(crate) const RESERVED_PREFIX: &str = "dispatch_";

/// The namespaces that a store reaches.
#[derive(Debug)]
pub(crate) struct NamespaceScope {
    /// Put before the text of every statement: statements are compiled and checked once per scope, and
    /// one that was compiled for one scope must never serve another.
    pub(crate) mark: String,
    /// Its own first.
    pub(crate) namespaces: Vec<String>,
}

/// Whom SQLite works for at the moment.
#[derive(Clone)]
pub(crate) enum GuardMode {
    /// The backend itself.
    Trusted,
    /// A store.
    Scoped(Arc<NamespaceScope>),
    /// A migration of this namespace.
    Migrating(String),
}

/// What the check knows.
struct GuardState {
    mode: GuardMode,
    /// Tables in lower case, and whose they are.
    owners: BTreeMap<String, String>,
    /// Tables that the statement under way makes.
    fresh: BTreeSet<String>,
    refusal: Option<String>,
}

/// The check of one connection.
pub(crate) struct TableGuard {
    watch: Arc<Mutex<GuardState>>,
}

impl TableGuard {
    /// Sets a guard over a connection; it trusts until it is told otherwise.
    pub(crate) fn post(connection: &mut Connection) -> rusqlite::Result<Self> {
        let watch =
            GuardState { mode: GuardMode::Trusted, owners: BTreeMap::new(), fresh: BTreeSet::new(), refusal: None };
        let watch = Arc::new(Mutex::new(watch));
        let asked = Arc::clone(&watch);
        connection.authorizer(Some(move |context: AuthContext<'_>| lock(&asked).answer(&context)))?;
        Ok(Self { watch })
    }

    /// Says whom the next statements are for.
    pub(crate) fn serve(&self, mode: GuardMode) {
        let mut watch = lock(&self.watch);
        watch.mode = mode;
        watch.fresh.clear();
        watch.refusal = None;
    }

    /// Says whose the tables are.
    pub(crate) fn learn(&self, owners: BTreeMap<String, String>) {
        lock(&self.watch).owners = owners;
    }

    /// Why the last statement was refused, if it was.
    pub(crate) fn take_refusal(&self) -> Option<String> {
        lock(&self.watch).refusal.take()
    }
}

impl GuardState {
    fn answer(&mut self, context: &AuthContext<'_>) -> Authorization {
        let owner = |table: &str| {
            let table = table.to_lowercase();
            match &self.mode {
                GuardMode::Migrating(namespace) if self.fresh.contains(&table) => Some(namespace.as_str()),
                _ => self.owners.get(&table).map(String::as_str),
            }
        };
        match decide(&self.mode, &owner, context) {
            TableVerdict::Allowed => Authorization::Allow,
            TableVerdict::Makes(table) => {
                self.fresh.insert(table.to_lowercase());
                Authorization::Allow
            }
            TableVerdict::Refused(why) => {
                self.refusal.get_or_insert(why);
                Authorization::Deny
            }
        }
    }
}

fn lock(watch: &Mutex<GuardState>) -> MutexGuard<'_, GuardState> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}
