//! Brings the tables of one namespace up to date, one step per transaction, while other processes may
//! be doing the same.

use crate::backup;
use crate::database::Database;
use crate::error::concerns_everybody;
use crate::guard::GuardMode;
use crate::layout::{self, FoundDatabase};
use crate::word_index;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::StorageError;
use dispatch_kernel::services::migration::plan;
use dispatch_os::time::unix_ms;

/// Runs the steps that the namespace has not taken. Data that was there before (`found`) is copied
/// before the first of them; afterwards it counts as new, so that one start makes one copy.
pub(crate) fn migrate(
    database: &Database,
    found: &mut FoundDatabase,
    namespace: &str,
    declared: &[Migration],
) -> Result<(), StorageError> {
    if pending(database, namespace, declared)?.is_none() {
        return Ok(());
    }
    if *found == FoundDatabase::Existing {
        backup::make(database)?;
        *found = FoundDatabase::New;
    }
    loop {
        database.command("BEGIN IMMEDIATE")?;
        // Asked again inside the transaction: another process may have taken the step meanwhile.
        let stepped = pending(database, namespace, declared).and_then(|next| match next {
            Some(step) => take(database, namespace, step).map(|()| true),
            None => Ok(false),
        });
        let finished = match stepped {
            Ok(more) => database.command("COMMIT").map(|()| more),
            Err(error) => Err(error),
        };
        match finished {
            Ok(true) => {}
            Ok(false) => return database.refresh(),
            Err(error) => {
                _ = database.command("ROLLBACK");
                database.refresh()?;
                return Err(error);
            }
        }
    }
}

fn pending<'a>(
    database: &Database,
    namespace: &str,
    declared: &'a [Migration],
) -> Result<Option<&'a Migration>, StorageError> {
    let applied = layout::applied(database.trusted(), namespace).map_err(|error| database.told(&error))?;
    match plan(declared, &applied) {
        Ok(steps) => Ok(steps.first()),
        Err(problem) => Err(StorageError::Migration(format!("`{namespace}`: {problem}"))),
    }
}

fn take(database: &Database, namespace: &str, step: &Migration) -> Result<(), StorageError> {
    let told = |error| database.told(&error);
    let owners = layout::owners(database.trusted()).map_err(told)?;
    database.guard.learn(owners);
    for statement in step.statements().flat_map(word_index::expanded) {
        database.guard.serve(GuardMode::Migrating(namespace.to_owned()));
        run(database, &statement).map_err(|error| match told(error) {
            error if concerns_everybody(&error) => error,
            error => StorageError::Migration(format!(
                "`{namespace}`: migration {} (`{}`): {error}",
                step.version(),
                step.name()
            )),
        })?;
        let owners = layout::claim(database.trusted(), namespace).map_err(told)?;
        database.guard.learn(owners);
    }
    layout::record(database.trusted(), namespace, step, unix_ms()).map_err(told)
}

fn run(database: &Database, statement: &str) -> rusqlite::Result<()> {
    let mut prepared = database.connection.prepare(statement)?;
    let mut rows = prepared.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}
