//! Brings the tables of one namespace up to date, one step per transaction, while other processes may be doing the
//! same.

use crate::connection::OpenConnection;
use crate::key_locks::lock_id;
use crate::layout;
use crate::sql::{StatementUse, check, define};
use crate::word_search;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::{StorageError, WordIndex};
use dispatch_kernel::services::migration::plan;

/// Runs the steps that the namespace has not taken.
pub(crate) fn migrate(open: &mut OpenConnection, namespace: &str, declared: &[Migration]) -> Result<(), StorageError> {
    while pending(open, namespace, declared)?.is_some() {
        let id = lock_id(&open.shared.schema(), "layout", "");
        let stepped = layout::in_transaction(open, |open| {
            open.batch(&format!("SELECT pg_advisory_xact_lock({id})"))?;
            // Asked again under the lock: another process may have taken the step meanwhile.
            match pending(open, namespace, declared)? {
                Some(step) => take(open, namespace, step),
                None => Ok(()),
            }
        });
        open.forget_statements();
        stepped?;
    }
    let owners = layout::owners(open)?;
    open.shared.learn_owners(owners);
    Ok(())
}

fn pending<'a>(
    open: &mut OpenConnection,
    namespace: &str,
    declared: &'a [Migration],
) -> Result<Option<&'a Migration>, StorageError> {
    let applied = layout::applied(open, namespace)?;
    match plan(declared, &applied) {
        Ok(steps) => Ok(steps.first()),
        Err(problem) => Err(StorageError::Migration(format!("`{namespace}`: {problem}"))),
    }
}

fn take(open: &mut OpenConnection, namespace: &str, step: &Migration) -> Result<(), StorageError> {
    let told = |error: StorageError| match error {
        away @ (StorageError::Unreachable(_) | StorageError::Busy) => away,
        error => {
            StorageError::Migration(format!("`{namespace}`: migration {} (`{}`): {error}", step.version(), step.name()))
        }
    };
    let mut owners = layout::owners(open)?;
    for statement in step.statements() {
        check(statement, StatementUse::Define, &[namespace.to_owned()], &owners)
            .map_err(|why| told(StorageError::Statement(why)))?;
        if let Some(index) = WordIndex::declared(statement) {
            word_search::define(open, &index).map_err(told)?;
            continue;
        }
        let (sql, number_column) = define(statement);
        open.batch(&sql).map_err(told)?;
        owners = layout::claim(open, namespace, number_column.as_deref())?;
    }
    layout::record(open, namespace, step)
}
