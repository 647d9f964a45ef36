//! The hook dispatcher's contract, rule by rule, against the real `dispatch-hook`.
//!
//! A test is named after the section whose rule it shows (`s04_2_...` is a rule of section 4.2), and there is one
//! file per section. Where a rule is shown elsewhere as well, the other place is the larger one:
//!
//! | section | rules | shown here | and at length in |
//! |---|---|---|---|
//! | 2 | registration | | `init` |
//! | 3 | input, output, catastrophic failure | `s03_io` | `hook_process`, `endless`, `fuzz` |
//! | 4 | durability | `s04_durability` | `killed`, `disks`, `state` |
//! | 5 | ids, paths | `s05_ids_and_paths` | `hook_process` |
//! | 6 | context object | `s06_context` | |
//! | 7 | module interface, discovery | `s07_modules` | `modules`, `trust` |
//! | 8 | algorithm, precedence, budgets | `s08_dispatch` | `endless` |
//! | 9 | rewrite channels | `s09_rewrites` | |
//! | 10 | isolation of errors | `s10_errors` | `endless` |
//! | 11 | capability of the graph database | `s11_neo4j` | the tests of the crate |
//! | 12 | phases | `s12_phases` | `state` |
//! | 13 | hot path | `s13_hot_path` | |
//! | 14 | registry, minimal set | `s14_registry` | `init` |
//! | 15, 16 | configuration, schemas | `s15_s16_files` | `init` |
//! | 17 | invariants 1 to 10 | `invariants`, `invariant_01_...` to `invariant_10_...` | |

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invariants;
mod s03_io;
mod s04_durability;
mod s05_ids_and_paths;
mod s06_context;
mod s07_modules;
mod s08_dispatch;
mod s09_rewrites;
mod s10_errors;
mod s11_neo4j;
mod s12_phases;
mod s13_hot_path;
mod s14_registry;
mod s15_s16_files;
mod workspace;

pub(crate) use workspace::{PipelineWorkspace, sha256_hex};
