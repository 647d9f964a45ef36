//! Deletes what a namespace has, in one transaction.

use crate::connection::OpenConnection;
use crate::key_locks::lock_id;
use crate::layout;
use dispatch_contracts::storage::{Columns, Record, SqlValue, StorageError};

/// The tables and views of a namespace, quoted, and whether each is a view.
const OWN: &str = "SELECT quote_ident(t.name), c.relkind IN ('v', 'm') FROM dispatch_tables t
    JOIN pg_class c ON c.oid = to_regclass(quote_ident(t.name)) WHERE t.namespace = $1 ORDER BY 1";

/// Drops the namespace's tables and takes it out of the backend's own. Answers the names of the tables.
pub(crate) fn delete_namespace(open: &mut OpenConnection, namespace: &str) -> Result<Vec<Record>, StorageError> {
    let id = lock_id(&open.shared.schema(), "layout", "");
    let deleted = layout::in_transaction(open, |open| {
        open.batch(&format!("SELECT pg_advisory_xact_lock({id})"))?;
        let named = [SqlValue::from(namespace)];
        let own = layout::query(open, OWN, &named)?;
        for record in &own {
            let kind = if record.integer(1)? == 0 { "TABLE" } else { "VIEW" };
            open.batch(&format!("DROP {kind} IF EXISTS {} CASCADE", record.text(0)?))?;
        }
        for table in ["dispatch_tables", "dispatch_migrations", "dispatch_values"] {
            layout::query(open, &format!("DELETE FROM {table} WHERE namespace = $1"), &named)?;
        }
        Ok(own)
    });
    open.forget_statements();
    let deleted = deleted?;
    let owners = layout::owners(open)?;
    open.shared.learn_owners(owners);
    Ok(deleted)
}
