//! Decides which schema changes to run, and in which order across extensions.
//!
//! Steps are numbered from 1 without gaps and only ever appended. A database that was changed by
//! an edited step, or by a newer program, is refused before anything is touched.

#[cfg(test)]
mod tests;

use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::migration::{AppliedMigration, Migration};
use std::collections::BTreeMap;

/// Why an extension's steps cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrationProblem {
    /// A step is declared twice.
    #[error("migration {version} is declared twice")]
    DeclaredTwice {
        /// Which.
        version: u32,
    },
    /// The declared steps are not 1, 2, 3, ...
    #[error("migration {expected} should come next, but {found} (`{name}`) is declared")]
    DeclaredOutOfOrder {
        /// What should stand there.
        expected: u32,
        /// What does.
        found: u32,
        /// Its name.
        name: String,
    },
    /// The database says it took a step 0; steps begin at 1.
    #[error("the database lists migration 0, which cannot exist")]
    AppliedZero,
    /// The database says it took a step twice.
    #[error("the database lists migration {version} twice")]
    AppliedTwice {
        /// Which.
        version: u32,
    },
    /// The database took a later step without this one.
    #[error("the database skipped migration {missing}: later ones are applied")]
    AppliedWithGap {
        /// Which one is missing.
        missing: u32,
    },
    /// A step was changed after the database took it.
    #[error("migration {version} (`{name}`) was changed after the database took it; add a new step instead")]
    Edited {
        /// Which.
        version: u32,
        /// Its name now.
        name: String,
    },
    /// The database was used by a newer program.
    #[error(
        "the database is at migration {database}, but this version knows only {program}; \
         use the newer version that changed it"
    )]
    DatabaseNewer {
        /// The last step the database took.
        database: u32,
        /// The last step that is declared.
        program: u32,
    },
}

/// What one extension declares and what its tables have been through.
#[derive(Clone, Copy, Debug)]
pub struct MigrationSet<'a> {
    /// Position among the extensions, so that what others depend on comes first.
    pub rank: usize,
    /// The steps, in order.
    pub declared: &'a [Migration],
    /// The steps the database has taken, in any order.
    pub applied: &'a [AppliedMigration],
}

/// One step to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedMigration<'a> {
    /// Whose.
    pub extension: &'a ExtensionId,
    /// What.
    pub migration: &'a Migration,
}

/// What to run, and who cannot be helped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationPlan<'a> {
    /// The steps, in the order to run them.
    pub steps: Vec<PlannedMigration<'a>>,
    /// Extensions none of whose steps may run, and why.
    pub refused: BTreeMap<&'a ExtensionId, MigrationProblem>,
}

/// The steps that are still to be run, in order.
pub fn plan<'a>(declared: &'a [Migration], applied: &[AppliedMigration]) -> Result<&'a [Migration], MigrationProblem> {
    check_declared(declared)?;
    let mut taken: Vec<&AppliedMigration> = applied.iter().collect();
    taken.sort_by_key(|step| step.version);
    check_applied(&taken)?;
    let (Some(past), Some(pending)) = (declared.get(..taken.len()), declared.get(taken.len()..)) else {
        return Err(MigrationProblem::DatabaseNewer {
            database: taken.last().map_or(0, |step| step.version),
            program: declared.last().map_or(0, Migration::version),
        });
    };
    match past.iter().zip(&taken).find(|(step, taken)| step.checksum() != taken.checksum) {
        Some((step, _)) => Err(MigrationProblem::Edited { version: step.version(), name: step.name().to_owned() }),
        None => Ok(pending),
    }
}

/// The steps of all extensions: by rank, then by id, each extension's own in their order. An
/// extension with a problem is left out as a whole and does not hold up the others.
pub fn plan_all<'a>(sets: &'a BTreeMap<ExtensionId, MigrationSet<'a>>) -> MigrationPlan<'a> {
    let mut ordered: Vec<(&ExtensionId, &MigrationSet<'a>)> = sets.iter().collect();
    ordered.sort_by_key(|(extension, set)| (set.rank, *extension));
    let mut whole = MigrationPlan::default();
    for (extension, set) in ordered {
        match plan(set.declared, set.applied) {
            Ok(pending) => {
                whole.steps.extend(pending.iter().map(|migration| PlannedMigration { extension, migration }));
            }
            Err(problem) => _ = whole.refused.insert(extension, problem),
        }
    }
    whole
}

fn check_declared(declared: &[Migration]) -> Result<(), MigrationProblem> {
    let mut last = 0;
    for step in declared {
        let expected = last + 1;
        if step.version() == last && last > 0 {
            return Err(MigrationProblem::DeclaredTwice { version: last });
        }
        if step.version() != expected {
            let name = step.name().to_owned();
            return Err(MigrationProblem::DeclaredOutOfOrder { expected, found: step.version(), name });
        }
        last = expected;
    }
    Ok(())
}

fn check_applied(sorted: &[&AppliedMigration]) -> Result<(), MigrationProblem> {
    let mut last = 0;
    for step in sorted {
        if step.version == 0 {
            return Err(MigrationProblem::AppliedZero);
        }
        if step.version == last {
            return Err(MigrationProblem::AppliedTwice { version: last });
        }
        if step.version - last > 1 {
            return Err(MigrationProblem::AppliedWithGap { missing: last + 1 });
        }
        last = step.version;
    }
    Ok(())
}
