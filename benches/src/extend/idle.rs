//! What ten extensions that have nothing to do add to a server: to its start and to its memory.

use super::Goal;
use super::written::WrittenExtension;
use crate::process::shared_kb;
use crate::sample::Samples;
use crate::served_project::ServedProject;
use crate::sessions::ReportRow;
use anyhow::Result;
use dispatch_support::ScriptedModel;
use std::path::Path;
use std::time::{Duration, Instant};

const EXTENSIONS: usize = 10;
/// Starts of each server; the first is not counted.
const ROUNDS: u32 = 15;
/// How long a server may settle before its memory is read.
const SETTLED: Duration = Duration::from_millis(400);
const START_LIMIT_MS: f64 = 60.0;
const MEMORY_LIMIT_MB: f64 = 40.0;
/// What a measurement varies by anyway.
const NOTHING_MS: f64 = 5.0;
const NOTHING_MB: f64 = 2.0;

/// Servers of one kind.
struct Variant {
    what: &'static str,
    project: ServedProject,
    limits: (f64, f64),
    starts: Samples,
    memory_mb: Vec<f64>,
}

impl Variant {
    fn new(what: &'static str, program: &Path, model: &ScriptedModel, limits: (f64, f64)) -> Result<Self> {
        let project = ServedProject::new(program, model)?;
        Ok(Self { what, project, limits, starts: Samples::default(), memory_mb: Vec::new() })
    }

    fn add(&self, written: &WrittenExtension) -> Result<()> {
        self.project.add_extension(&written.id, &written.manifest, &written.code)
    }

    fn approve(&self) -> Result<()> {
        for number in 0..EXTENSIONS {
            self.project.finish(&["trust", &name(number)])?;
        }
        Ok(())
    }

    fn measure(&mut self, is_counted: bool) -> Result<()> {
        let start = Instant::now();
        let served = self.project.serve()?;
        let time = start.elapsed();
        std::thread::sleep(SETTLED);
        if is_counted {
            self.starts.add(time);
            self.memory_mb.push(shared_kb(served.id())? as f64 / 1024.0);
        }
        Ok(())
    }

    fn start_ms(&self) -> f64 {
        self.starts.median_us() / 1e3
    }

    fn memory_mb(&self) -> f64 {
        let mut sorted = self.memory_mb.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn rows(&self, none: &Self) -> Vec<ReportRow> {
        let (start_limit, memory_limit) = self.limits;
        let (with, without) = (self.start_ms(), none.start_ms());
        let (full, empty) = (self.memory_mb(), none.memory_mb());
        let what = |added: &str| format!("{EXTENSIONS} {}: added to {added}", self.what);
        let start = Goal { what: &what("the start"), unit: "ms", figure: with - without, limit: start_limit }
            .row(format!("{with:.1} ms, {without:.1} ms without"));
        let memory = Goal { what: &what("the memory"), unit: "MB", figure: full - empty, limit: memory_limit }
            .row(format!("{full:.1} MB, {empty:.1} MB without"));
        vec![start, memory]
    }
}

fn name(number: usize) -> String {
    format!("idle-{number}")
}

fn written(number: usize) -> WrittenExtension {
    WrittenExtension::with_tool(&name(number), &format!("tool_{number}"))
}

pub(super) fn rows(program: &Path) -> Result<Vec<ReportRow>> {
    let model = crate::sessions::model(0);
    let nothing = (NOTHING_MS, NOTHING_MB);
    let none = Variant::new("none", program, &model, nothing)?;
    let lazy = Variant::new("that only register", program, &model, nothing)?;
    let speaking = Variant::new("that work in `activate`", program, &model, (START_LIMIT_MS, MEMORY_LIMIT_MB))?;
    let absent = Variant::new("that are not approved", program, &model, nothing)?;
    for number in 0..EXTENSIONS {
        lazy.add(&written(number))?;
        absent.add(&written(number))?;
        speaking.add(&written(number).that_speaks())?;
    }
    lazy.approve()?;
    speaking.approve()?;
    let mut all = [none, lazy, speaking, absent];
    for round in 0..=ROUNDS {
        for variant in &mut all {
            variant.measure(round > 0)?;
        }
    }
    let [none, others @ ..] = &all;
    Ok(others.iter().flat_map(|variant| variant.rows(none)).collect())
}
