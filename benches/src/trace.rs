//! What intents and their ledger cost: a decision, a hash, an append, and the newest entries of a large ledger.

use crate::sample::Samples;
use crate::{process, row, table};
use anyhow::{Context as _, Result};
use ext_intents::contract::testing::{
    append_entries, content_hash, file_hash, gate_allows, recent_entries, recent_index_folder, store_content,
    write_head,
};
use ext_intents::contract::{
    AddedLines, FileHashes, IntentSpec, IntentStatus, IntentWorkspace, MutationClass, ScopeValidation, TraceEntry,
};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

const INTENTS: usize = 500;
const GLOBS_EACH: usize = 20;
const DECISIONS: u32 = 100;
const ROUNDS: u32 = 30;
const HASHED_BYTES: usize = 64 * 1024 * 1024;
const SMALL_LEDGER_BYTES: u64 = 1024 * 1024;
const BLAME_LINES: usize = 5_000;
const BLAME_CHANGES: usize = 200;
const MANY_ENTRIES: usize = 100_000;
const MANY_BATCH: usize = 1_000;
const MANY_SESSIONS: usize = 50;
const MANY_FILES: usize = 2_000;
const LARGE_LEDGER_BYTES: u64 = 1024 * 1024 * 1024;

pub(crate) fn run() -> Result<()> {
    let mut rows = vec![row!["what", "best", "median", "target"]];
    rows.extend(decisions());
    rows.extend(hashing()?);
    for (label, bytes) in [("1 MB", SMALL_LEDGER_BYTES), ("1 GB", LARGE_LEDGER_BYTES)] {
        rows.extend(ledger(label, bytes)?);
    }
    rows.push(blame()?);
    rows.extend(many_entries()?);
    table::print(&rows);
    Ok(())
}

/// A file of many lines that grew by many changes, asked for the origin of each line.
fn blame() -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    let workspace = IntentWorkspace::at(root);
    let mut lines: Vec<String> = Vec::new();
    let mut before: Option<String> = None;
    for change in 0..BLAME_CHANGES {
        let at = lines.len() / 2;
        let more = (0..BLAME_LINES / BLAME_CHANGES).map(|line| format!("line {line} of change {change}\n"));
        lines.splice(at..at, more);
        let text = lines.concat();
        let after = content_hash(text.as_bytes());
        store_content(root, text.as_bytes());
        let mut entry = entry("INT-001", change);
        entry.file = Some(FileHashes {
            relative_path: "large.txt".to_owned(),
            pre_hash: before.replace(after.clone()),
            post_hash: Some(after),
        });
        append_entries(root, vec![entry])?;
    }
    std::fs::write(root.join("large.txt"), lines.concat())?;
    let samples = Samples::of(ROUNDS, || {
        std::hint::black_box(workspace.blame("large.txt").map(|blame| blame.lines().len()).ok());
    });
    Ok(row!["blame of 5,000 lines in 200 changes", us(samples.best_us()), us(samples.median_us()), "200000 us"])
}

/// A ledger of many entries, asked for the lines of one file and verified as a whole.
fn many_entries() -> Result<Vec<Vec<String>>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    let workspace = IntentWorkspace::at(root);
    for batch in 0..MANY_ENTRIES / MANY_BATCH {
        let entries = (0..MANY_BATCH).map(|number| {
            let number = batch * MANY_BATCH + number;
            let mut entry = entry("INT-001", number);
            entry.session_id = format!("{:08x}", number % MANY_SESSIONS);
            if let Some(file) = &mut entry.file {
                file.relative_path = format!("src/file{}.rs", number % MANY_FILES);
                file.pre_hash = None;
            }
            entry
        });
        append_entries(root, entries.collect())?;
    }
    std::fs::create_dir_all(root.join("src"))?;
    std::fs::write(root.join("src/file7.rs"), "one\ntwo\n")?;
    let blamed = Samples::of(ROUNDS, || {
        std::hint::black_box(workspace.blame("src/file7.rs").map(|blame| blame.lines().len()).ok());
    });
    let verified = Samples::of(5, || {
        std::hint::black_box(workspace.verify().map(|found| found.entries).ok());
    });
    let found = workspace.verify()?;
    anyhow::ensure!(found.problems.is_empty(), "{:?}", found.problems.first());
    Ok(vec![
        row!["blame in a ledger of 100,000 entries", us(blamed.best_us()), us(blamed.median_us()), "50000 us"],
        row!["verify a ledger of 100,000 entries", us(verified.best_us()), us(verified.median_us()), "1000000 us"],
    ])
}

fn intents() -> Vec<IntentSpec> {
    let spec = |number: usize| IntentSpec {
        id: format!("INT-{number:03}"),
        name: format!("Intent {number}"),
        status: IntentStatus::InProgress,
        owned_scope: (0..GLOBS_EACH)
            .map(|glob| format!("src/area{number}/{{a,b}}/part{glob}/**/*.{{ts,rs}}"))
            .collect(),
        constraints: Vec::new(),
        acceptance_criteria: Vec::new(),
        created_at: String::new(),
        updated_at: String::new(),
        kind: None,
        claim: None,
        mode: None,
    };
    (0..INTENTS).map(spec).collect()
}

fn decisions() -> Vec<Vec<String>> {
    let intents = intents();
    let active = format!("INT-{:03}", INTENTS - 1);
    let inside = format!("src/area{}/b/part{}/deep/er/file.rs", INTENTS - 1, GLOBS_EACH - 1);
    let decide = |path: &str| {
        std::hint::black_box(gate_allows(&intents, &active, path));
    };
    let accepted = Samples::of(ROUNDS, || (0..DECISIONS).for_each(|_| decide(&inside)));
    let rejected = Samples::of(ROUNDS, || decide("src/area7/a/part3/x.rs"));
    let each = |us: f64| format!("{:.1} us", us / f64::from(DECISIONS));
    vec![
        row!["decision, 500 intents of 20 globs", each(accepted.best_us()), each(accepted.median_us()), "100 us"],
        row!["rejection that names the owner", us(rejected.best_us()), us(rejected.median_us()), ""],
    ]
}

fn hashing() -> Result<Vec<Vec<String>>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7_u8; HASHED_BYTES])?;
    let samples = Samples::of(5, || {
        std::hint::black_box(file_hash(&path).ok());
    });
    let rate = |us: f64| HASHED_BYTES as f64 / us;
    let mut rows = vec![row![
        "hash of a 64 MB file, MB/s",
        format!("{:.0}", rate(samples.best_us())),
        format!("{:.0}", rate(samples.median_us())),
        ""
    ]];
    if let Some(openssl) = openssl_rate() {
        let ratio = |us: f64| format!("{:.0} %", rate(us) / openssl * 100.0);
        rows.push(row!["openssl speed sha256, MB/s", format!("{openssl:.0}"), "", ""]);
        rows.push(row!["ratio to openssl", ratio(samples.best_us()), ratio(samples.median_us()), "80 %"]);
    }
    Ok(rows)
}

/// Megabytes per second, as `openssl speed` tells them.
fn openssl_rate() -> Option<f64> {
    let openssl = process::find("openssl")?;
    let arguments = ["speed", "-elapsed", "-seconds", "2", "-bytes", "262144", "-evp", "sha256"];
    let output = Command::new(openssl).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).to_lowercase();
    let last = text.lines().rfind(|line| line.starts_with("sha256"))?;
    last.split_whitespace().last()?.strip_suffix('k')?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1000.0)
}

fn ledger(label: &str, bytes: u64) -> Result<Vec<Vec<String>>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    fill(root, bytes)?;
    for number in 0..25 {
        append_entries(root, vec![entry("INT-007", number)])?;
    }
    let mut number = 0;
    let append = Samples::of(ROUNDS * 10, || {
        number += 1;
        std::hint::black_box(append_entries(root, vec![entry("INT-008", number)]).ok());
    });
    let recent = Samples::of(ROUNDS * 10, || {
        std::hint::black_box(recent_entries(root, "INT-007", 20));
    });
    let found = recent_entries(root, "INT-007", 20).len();
    anyhow::ensure!(found == 20, "only {found} recent entries were found");
    std::fs::remove_dir_all(recent_index_folder(root))?;
    let lost = Samples::of(5, || {
        std::hint::black_box(recent_entries(root, "INT-007", 20));
    });
    Ok(vec![
        row![format!("append to a ledger of {label}"), us(append.best_us()), us(append.median_us()), "1000 us"],
        row![format!("20 recent entries of {label}"), us(recent.best_us()), us(recent.median_us()), "10000 us"],
        row![format!("the same with its index lost, {label}"), us(lost.best_us()), us(lost.median_us()), ""],
    ])
}

/// A ledger of this size whose head fits its last line.
fn fill(root: &Path, bytes: u64) -> Result<()> {
    let mut last = Vec::new();
    let (mut size, mut entries) = (0, 0);
    let ledger = IntentWorkspace::at(root).ledger_file();
    std::fs::create_dir_all(ledger.parent().context("a folder")?)?;
    let mut output = BufWriter::with_capacity(1 << 20, std::fs::File::create(ledger)?);
    let lines: Vec<Vec<u8>> = (0..64)
        .map(|number| serde_json::to_vec(&entry(&format!("INT-{:03}", 100 + number), number)))
        .collect::<Result<_, _>>()?;
    while size < bytes {
        for line in &lines {
            output.write_all(line)?;
            output.write_all(b"\n")?;
            size += line.len() as u64 + 1;
            entries += 1;
        }
        last.clone_from(lines.last().context("a line")?);
    }
    output.flush()?;
    // Otherwise the first appends would wait for the disk to take the whole file.
    output.get_ref().sync_all()?;
    Ok(write_head(root, entries, size, &last)?)
}

fn entry(intent: &str, number: usize) -> TraceEntry {
    let hash = content_hash(number.to_string().as_bytes());
    let added = AddedLines { start: 1, hashes: vec!["0123456789".to_owned(); 20] };
    TraceEntry {
        id: format!("00000000-0000-4000-8000-{number:012}"),
        timestamp: "2026-01-02T03:04:05.678Z".to_owned(),
        intent_id: intent.to_owned(),
        session_id: "a3f0c812".to_owned(),
        tool_name: "Write".to_owned(),
        mutation_class: MutationClass::IntentEvolution,
        file: Some(FileHashes {
            relative_path: format!("src/part{}/file{number}.rs", number % 40),
            pre_hash: Some(hash.clone()),
            post_hash: Some(hash.clone()),
        }),
        scope_validation: ScopeValidation::Pass,
        success: true,
        error: None,
        host: Some("claude-code".to_owned()),
        model: None,
        conversation: None,
        tool_use_id: Some(format!("toolu_{number:024}")),
        added: vec![added],
        removed: None,
        concurrent: Vec::new(),
        reverted: false,
        note: None,
        prev: hash,
    }
}

fn us(value: f64) -> String {
    format!("{value:.0} us")
}
