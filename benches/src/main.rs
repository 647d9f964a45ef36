//! Benchmarks that print a table: `cargo xtask bench [start|guard|script|redact|bus|trace|run|sessions|route|react|extend]`, all without a name.

#![allow(clippy::print_stdout, reason = "a table is what a benchmark is for")]

mod bus;
mod extend;
mod guard;
mod pauses;
mod process;
mod raw_commits;
mod react;
mod redact;
mod route;
mod run;
mod sample;
mod script;
mod served_project;
mod sessions;
mod start;
mod table;
mod trace;

use anyhow::{Result, bail};

/// A benchmark: prints its table.
type Bench = fn() -> Result<()>;

const BENCHES: &[(&str, Bench)] = &[
    ("start", start::run),
    ("guard", guard::run),
    ("script", script::run),
    ("redact", redact::run),
    ("bus", bus::run),
    ("trace", trace::run),
    ("run", run::run),
    ("sessions", sessions::run),
    ("route", route::run),
    ("react", react::run),
    ("extend", extend::run),
];

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names == [extend::WORKER_COMMAND] {
        return extend::serve_scripts();
    }
    for name in &names {
        if !BENCHES.iter().any(|(known, _)| known == name) {
            let known: Vec<_> = BENCHES.iter().map(|(known, _)| *known).collect();
            bail!("unknown benchmark `{name}`; the benchmarks are: {}", known.join(", "));
        }
    }
    for (name, bench) in BENCHES {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            println!("\n## {name}\n");
            bench()?;
        }
    }
    Ok(())
}
