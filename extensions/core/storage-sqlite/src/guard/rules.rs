//! The rules of the guard as a function: one action of a statement in, a verdict out.

use super::{GuardMode, RESERVED_PREFIX};
use rusqlite::hooks::{AuthAction, AuthContext};

/// Read by the full-text index to see that its file has changed.
const HARMLESS_PRAGMA: &str = "data_version";
/// Virtual tables that keep everything in tables of their own.
const MODULES: &[&str] = &["fts5", "fts5vocab"];
/// Table functions that read nothing but their arguments.
const TABLE_FUNCTIONS: &[&str] = &["json_each", "json_tree"];

pub(super) enum TableVerdict {
    Allowed,
    /// Allowed, and the statement makes this table.
    Makes(String),
    Refused(String),
}

pub(super) fn decide<'a>(
    mode: &GuardMode,
    owner: &dyn Fn(&str) -> Option<&'a str>,
    context: &AuthContext<'_>,
) -> TableVerdict {
    match mode {
        GuardMode::Trusted => TableVerdict::Allowed,
        GuardMode::Scoped(scope) => {
            let mine = |table: &str| match owner(table) {
                Some(owner) if scope.namespaces.iter().any(|known| known == owner) => TableVerdict::Allowed,
                None if is_name_of_query(&context.action) => TableVerdict::Allowed,
                other => foreign(table, other),
            };
            scoped(&context.action, &mine)
        }
        GuardMode::Migrating(namespace) => {
            let mine = |table: &str| match owner(table) {
                Some(owner) if owner == namespace => TableVerdict::Allowed,
                None if is_name_of_query(&context.action) => TableVerdict::Allowed,
                other => foreign(table, other),
            };
            migrating(&context.action, &mine)
        }
    }
}

/// What a store may do: read and change rows.
fn scoped(action: &AuthAction<'_>, mine: &dyn Fn(&str) -> TableVerdict) -> TableVerdict {
    match action {
        AuthAction::Select | AuthAction::Recursive | AuthAction::Function { .. } => TableVerdict::Allowed,
        AuthAction::Read { table_name, .. } if TABLE_FUNCTIONS.contains(table_name) => TableVerdict::Allowed,
        AuthAction::Read { table_name, .. }
        | AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name } => mine(table_name),
        AuthAction::Pragma { pragma_name, pragma_value: None } if *pragma_name == HARMLESS_PRAGMA => {
            TableVerdict::Allowed
        }
        AuthAction::Pragma { .. } => refused("a store may not change or read the settings of the database"),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => refused("a store may not open other databases"),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            refused("a transaction begins and ends with the work, not with a statement")
        }
        _ => refused("tables are made and changed by migrations alone"),
    }
}

/// What a migration may do: all of that, and make and change its own tables.
fn migrating(action: &AuthAction<'_>, mine: &dyn Fn(&str) -> TableVerdict) -> TableVerdict {
    match action {
        AuthAction::CreateTable { table_name } => make(table_name),
        AuthAction::CreateView { view_name } => make(view_name),
        AuthAction::CreateVtable { table_name, module_name } if MODULES.contains(module_name) => make(table_name),
        AuthAction::CreateIndex { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::DropTable { table_name }
        | AuthAction::DropTrigger { table_name, .. }
        | AuthAction::DropVtable { table_name, .. }
        | AuthAction::DropView { view_name: table_name }
        | AuthAction::AlterTable { table_name, .. } => mine(table_name),
        AuthAction::Reindex { .. } => TableVerdict::Allowed,
        AuthAction::Read { table_name, .. }
        | AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
            if is_catalogue(table_name) =>
        {
            TableVerdict::Allowed
        }
        other => scoped(other, mine),
    }
}

/// A query that was given a name with `WITH` and of which no column is used, as in `SELECT COUNT(*)`:
/// SQLite asks about it as if it were a table. Real tables have an owner or a name of one of these kinds.
fn is_name_of_query(action: &AuthAction<'_>) -> bool {
    let AuthAction::Read { table_name, column_name: "" } = action else { return false };
    let name = table_name.to_lowercase();
    !["sqlite_", "pragma_", RESERVED_PREFIX].iter().any(|prefix| name.starts_with(prefix))
}

/// SQLite's own lists of tables, which it changes itself while tables are made. Statements that change
/// them directly are refused by its defensive mode.
fn is_catalogue(table: &str) -> bool {
    ["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_sequence"].contains(&table)
}

fn make(table: &str) -> TableVerdict {
    if table.to_lowercase().starts_with(RESERVED_PREFIX) {
        return refused(&format!("names that start with `{RESERVED_PREFIX}` are the backend's own"));
    }
    TableVerdict::Makes(table.to_owned())
}

fn foreign(table: &str, owner: Option<&str>) -> TableVerdict {
    match owner {
        Some(owner) => refused(&format!("table `{table}` belongs to `{owner}`")),
        None => refused(&format!("table `{table}` belongs to no migration of this store")),
    }
}

fn refused(why: &str) -> TableVerdict {
    TableVerdict::Refused(why.to_owned())
}
