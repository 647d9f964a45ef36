//! How fast text is searched for secrets.

use crate::sample::Samples;
use crate::{row, table};
use anyhow::{Context as _, Result};
use dispatch_redact::{Options, Redactor};
use std::path::Path;

/// How much text is searched.
const BYTES: usize = 1024 * 1024;

pub(crate) fn run() -> Result<()> {
    let clean = source_code()?;
    let dirty = with_secrets(&clean);
    let redactor = Redactor::new(Options::default())?;
    let mut rows = vec![row!["1 MiB of", "best ms", "MB/s"]];
    for (label, text) in [("source code", &clean), ("source code with a token in each 4 KiB", &dirty)] {
        let samples = Samples::of(30, || drop(std::hint::black_box(redactor.redact(text))));
        let best_us = samples.best_us();
        rows.push(row![label, format!("{:.2}", best_us / 1e3), format!("{:.0}", text.len() as f64 / best_us)]);
    }
    let first = Samples::of(200, || {
        let fresh = Redactor::new(Options::default());
        drop(std::hint::black_box(fresh.map(|redactor| redactor.redact("let answer = 42;").into_owned())));
    });
    rows.push(row!["(a new redactor and one short line)", format!("{:.3}", first.best_us() / 1e3), "-"]);
    table::print(&rows);
    Ok(())
}

/// The Rust sources of this workspace, again and again until there is enough.
fn source_code() -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    let mut text = String::new();
    for folder in ["kernel", "platform", "xtask", "apps"] {
        collect(&root.join(folder), &mut text)?;
    }
    while text.len() < BYTES {
        text.push_str(&text.clone());
    }
    text.truncate(text.floor_char_boundary(BYTES));
    Ok(text)
}

fn collect(folder: &Path, text: &mut String) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("testdata") {
            collect(&path, text)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

fn with_secrets(clean: &str) -> String {
    let token = format!("gh{}_{}", "p", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let mut text = String::with_capacity(clean.len() + clean.len() / 64);
    let mut rest = clean;
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.floor_char_boundary(4096.min(rest.len())));
        text.push_str(head);
        text.push_str(&format!("\nlet token = \"{token}\";\n"));
        rest = tail;
    }
    text
}
