//! Tables and properties of the plan.

use super::*;
use proptest::prelude::*;

const STATEMENTS: [&[&str]; 5] =
    [&["CREATE TABLE a (x)"], &["CREATE TABLE b (x)"], &["CREATE TABLE c (x)"], &["CREATE TABLE d (x)"], &[]];

fn step(version: u32) -> Migration {
    Migration::new(version, "a step", STATEMENTS[version as usize % STATEMENTS.len()])
}

fn steps(versions: &[u32]) -> Vec<Migration> {
    versions.iter().copied().map(step).collect()
}

fn taken(versions: &[u32]) -> Vec<AppliedMigration> {
    let applied = |version: &u32| AppliedMigration { version: *version, checksum: step(*version).checksum() };
    versions.iter().map(applied).collect()
}

#[test]
fn pending_steps_or_the_reason_against_them() {
    use MigrationProblem::{AppliedTwice, AppliedWithGap, DatabaseNewer, DeclaredOutOfOrder, DeclaredTwice};
    let out_of_order = |expected, found| Err(DeclaredOutOfOrder { expected, found, name: "a step".to_owned() });
    type MigrationCase<'a> = (&'a [u32], &'a [u32], Result<&'a [u32], MigrationProblem>);
    let table: &[MigrationCase<'_>] = &[
        (&[], &[], Ok(&[])),
        (&[1, 2, 3], &[], Ok(&[1, 2, 3])),
        (&[1, 2, 3], &[1], Ok(&[2, 3])),
        (&[1, 2, 3], &[3, 1, 2], Ok(&[])),
        (&[2, 3], &[], out_of_order(1, 2)),
        (&[0, 1], &[], out_of_order(1, 0)),
        (&[1, 3], &[], out_of_order(2, 3)),
        (&[1, 2, 1], &[], out_of_order(3, 1)),
        (&[1, u32::MAX], &[], out_of_order(2, u32::MAX)),
        (&[1, 1], &[], Err(DeclaredTwice { version: 1 })),
        (&[1, 2], &[1, 1], Err(AppliedTwice { version: 1 })),
        (&[1, 2], &[2], Err(AppliedWithGap { missing: 1 })),
        (&[1, 2, 3], &[1, 3], Err(AppliedWithGap { missing: 2 })),
        (&[1], &[1, 2, 3], Err(DatabaseNewer { database: 3, program: 1 })),
        (&[], &[1], Err(DatabaseNewer { database: 1, program: 0 })),
        (&[1], &[u32::MAX], Err(AppliedWithGap { missing: 1 })),
    ];
    for (declared, applied, expected) in table {
        let declared = steps(declared);
        let found = plan(&declared, &taken(applied));
        let versions = found.map(|pending| pending.iter().map(|step| step.version()).collect::<Vec<_>>());
        assert_eq!(versions, expected.clone().map(<[u32]>::to_vec), "{declared:?} after {applied:?}");
    }
}

#[test]
fn a_version_of_zero_in_the_database_is_refused() {
    let zero = [AppliedMigration { version: 0, checksum: 0 }];
    assert_eq!(plan(&steps(&[1]), &zero), Err(MigrationProblem::AppliedZero));
}

#[test]
fn an_edited_step_is_noticed() {
    let mut applied = taken(&[1, 2]);
    applied[1].checksum ^= 1;
    let problem = plan(&steps(&[1, 2, 3]), &applied).unwrap_err();
    assert_eq!(problem, MigrationProblem::Edited { version: 2, name: "a step".to_owned() });
    assert_eq!(
        problem.to_string(),
        "migration 2 (`a step`) was changed after the database took it; add a new step instead"
    );
}

#[test]
fn a_newer_database_is_refused_in_words() {
    assert_eq!(
        plan(&steps(&[1]), &taken(&[1, 2])).unwrap_err().to_string(),
        "the database is at migration 2, but this version knows only 1; use the newer version that changed it"
    );
}

#[test]
fn extensions_go_in_the_order_of_their_rank_and_fail_alone() {
    let (one, two, broken) = (steps(&[1]), steps(&[1, 2]), steps(&[2]));
    let applied = taken(&[1]);
    let set = |rank, declared, applied| MigrationSet { rank, declared, applied };
    let sets = BTreeMap::from([
        (ExtensionId::from("audit"), set(2, &two[..], &[][..])),
        (ExtensionId::from("broker"), set(1, &broken, &[])),
        (ExtensionId::from("store"), set(0, &two, &applied)),
        (ExtensionId::from("album"), set(2, &one, &[])),
    ]);
    let whole = plan_all(&sets);
    let order: Vec<(&str, u32)> =
        whole.steps.iter().map(|step| (step.extension.as_str(), step.migration.version())).collect();
    assert_eq!(order, [("store", 2), ("album", 1), ("audit", 1), ("audit", 2)]);
    assert_eq!(whole.refused.keys().map(|id| id.as_str()).collect::<Vec<_>>(), ["broker"]);
}

proptest! {
    #[test]
    fn what_was_planned_completes_what_was_applied(total in 0_u32..12, done in 0_u32..12) {
        let done = done.min(total);
        let declared = steps(&(1..=total).collect::<Vec<_>>());
        let mut applied = taken(&(1..=done).collect::<Vec<_>>());
        applied.reverse();
        let pending = plan(&declared, &applied).unwrap();
        prop_assert_eq!(pending.len() as u32, total - done);
        applied.extend(taken(&pending.iter().map(|step| step.version()).collect::<Vec<_>>()));
        prop_assert_eq!(plan(&declared, &applied), Ok(&[][..]));
    }

    #[test]
    fn anything_is_planned_or_refused(declared in prop::collection::vec(any::<u32>(), 0..5), applied in prop::collection::vec(0_u32..6, 0..5)) {
        let _ = plan(&steps(&declared), &taken(&applied));
    }
}
