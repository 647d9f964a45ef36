//! Tasks of web frameworks that empty the database of their configuration, where the command says that it is production.
//!
//! Pure.

use dispatch_toolcall::SimpleCommand;

/// Tasks that drop or empty a whole database.
const TASKS: &[&str] = &[
    "db:drop",
    "db:drop:all",
    "db:reset",
    "db:schema:load",
    "db:purge",
    "db:wipe",
    "db:truncate_all",
    "migrate:fresh",
    "migrate:reset",
    "migrate:refresh",
    "db:migrate:undo:all",
    "schema:drop",
    "ecto.drop",
    "ecto.reset",
    "doctrine:database:drop",
    "doctrine:schema:drop",
];
/// The same in several words.
const SPLIT_TASKS: &[(&str, &[&str])] = &[
    ("migrate", &["reset", "fresh"]),
    ("database", &["drop", "reset"]),
    ("manage.py", &["flush", "reset_db", "sqlflush"]),
    ("django-admin", &["flush"]),
    ("downgrade", &["base"]),
];
/// How a command says that it is about production; the text is compared in small letters.
const PRODUCTION: &[&str] = &[
    "_env=production",
    "mix_env=prod",
    "app_env=prod",
    "node_env=production",
    "--env=production",
    "--env production",
    "--env=prod",
    "--env prod",
    "-e production",
    "--app-env prod",
    "environment=production",
    "environment production",
    "disable_database_environment_check",
    "settings.production",
    "settings.prod",
    "settings=prod",
];
/// Programs that refuse such a task in production unless they are forced.
const FORCED: &[(&str, &str)] = &[("artisan", "--force"), ("flush", "--no-input"), ("flush", "--noinput")];

/// Whether a call is such a task.
pub(super) fn empties_database(command: &SimpleCommand) -> bool {
    let words = command.argv.as_slice();
    let split = || {
        SPLIT_TASKS.iter().any(|(first, second)| {
            let at = words.iter().position(|word| word.rsplit('/').next() == Some(first));
            let next = at.and_then(|at| words.get(at + 1));
            next.is_some_and(|next| second.contains(&next.as_str()))
        })
    };
    let tries = words.iter().any(|word| matches!(word.as_str(), "--help" | "--dry-run"));
    !tries && (words.iter().any(|word| TASKS.contains(&word.as_str())) || split())
}

/// `php artisan migrate:fresh --force`: told not to ask, and not about a database for tests.
pub(super) fn is_forced(command: &SimpleCommand) -> bool {
    let words = command.argv.as_slice();
    let tests = ["test", "dev", "local"].iter().any(|name| words.iter().any(|word| word.contains(name)));
    let forces = |(program, option): &(&str, &str)| {
        words.iter().any(|word| word == option) && words.iter().any(|word| word.rsplit('/').next() == Some(program))
    };
    !tests && FORCED.iter().any(forces)
}

/// `RAILS_ENV=production rails db:drop`: whether the whole text names production.
pub(super) fn names_production(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PRODUCTION.iter().any(|sign| lower.contains(sign))
}
