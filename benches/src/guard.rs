//! What a hook event costs: the command that `init` registers against the floor, Node and Bun, with all
//! native modules, with long commands, with several roots, with eight scripts, with a log of a gigabyte and with a
//! thousand sessions.

mod goals;
mod long_commands;
mod peers;
mod workspace;

use crate::process::{Program, build, find, instructions, time_all};
use crate::sample::Samples;
use crate::{row, table};
use anyhow::Result;
use goals::{Goals, WantedRatio};
use long_commands::long_commands;
use std::path::{Path, PathBuf};
use workspace::{GuardWorkspace, Scripts, payload, payload_of};

const PLAIN: &str = "dispatch-hook (plain)";
const SHIPPED: &str = "dispatch-hook (shipped, static)";
const BESIDE: &str = "dispatch-hook (beside)";
/// The path of another build of `dispatch-hook`, to be measured in the same run.
const BESIDE_VARIABLE: &str = "DISPATCH_BENCH_BESIDE";
const TRUE: &str = "/bin/true";
const BARE: &str = "bare Rust, dynamic";
const EMPTY: &str = "empty log";
const NODE: &str = "node -e 0";
/// How a host names its project.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// Rounds over all programs.
const ROUNDS: u32 = 150;
/// Rounds where a program takes a tenth of a second.
const SLOW_ROUNDS: u32 = 25;
/// The length that the log of a session grows to.
const LONG_LOG_BYTES: u64 = 1 << 30;
const MANY_SESSIONS: u32 = 1_000;

pub(crate) fn run() -> Result<()> {
    // It only lays out the workspaces, so an unoptimised one will do.
    let dispatch = build("dispatch", "dispatch", "dev")?;
    let plain = build("dispatch-hook", "dispatch-hook", "hook")?;
    let floor = build("dispatch-benches", "floor", "release")?;
    let static_floors = peers::static_floors()?;
    let beside = std::env::var_os(BESIDE_VARIABLE).map(|path| (BESIDE, PathBuf::from(path)));
    let mut hooks: Vec<(&'static str, PathBuf)> = beside.into_iter().chain([(PLAIN, plain)]).collect();
    hooks.extend(workspace::shipped("dispatch-hook")?.map(|path| (SHIPPED, path)));
    let copies = tempfile::tempdir()?;
    for (number, (_, path)) in hooks.iter_mut().enumerate() {
        *path = fresh_copy(path, &copies.path().join(format!("hook-{number}")))?;
    }
    let floor = fresh_copy(&floor, &copies.path().join("floor"))?;
    let mut goals = Goals::default();

    println!("Whole processes, one PreToolUse event, after `init --full`:\n");
    let native = GuardWorkspace::new(&dispatch, Scripts::None)?;
    let mut programs =
        vec![Program::new(TRUE, Path::new("/bin/true"), &[]), Program::new(BARE, &floor, &[&native.floor_log()])];
    programs.extend(static_floors.iter().map(|it| Program::new(it.label, &it.path, &[&native.floor_log()])));
    programs.extend(hooks.iter().map(|(label, path)| native.hook(label, path)));
    let node = find("node").map(|path| Program::new(NODE, &path, &["-e", "0"]));
    compare(&programs, node, &native, &mut goals)?;

    println!("\nThe same with a command of 16 KiB:\n");
    compare_lengths(&hooks, &native, &mut goals)?;

    println!(
        "\nThe same with the rules of one folder, and with those of a folder, a folder above and the user's own:\n"
    );
    compare_roots(&hooks, &dispatch, &mut goals)?;

    println!("\nThe same with eight script modules, beside Node and Bun running the same eight:\n");
    let scripted = GuardWorkspace::new(&dispatch, Scripts::Eight)?;
    let programs: Vec<Program> = hooks.iter().map(|(label, path)| scripted.hook(label, path)).collect();
    compare_scripts(&programs, &scripted, &mut goals)?;

    println!("\nThe same as history grows:\n");
    growth(&hooks, &dispatch, &mut goals)?;

    println!("\nWhat was wanted, by the best times:\n");
    goals.print();
    Ok(())
}

fn compare(programs: &[Program], node: Option<Program>, workspace: &GuardWorkspace, goals: &mut Goals) -> Result<()> {
    let mut samples = time_all(programs, &|round| payload(workspace.root(), round), ROUNDS)?;
    let mut programs = programs.to_vec();
    if let Some(node) = node {
        samples.extend(time_all(std::slice::from_ref(&node), &|round| payload(workspace.root(), round), SLOW_ROUNDS)?);
        programs.push(node);
    }
    let best = |label: &str| {
        let at = programs.iter().position(|program| program.label == label)?;
        samples.get(at).map(Samples::best_us)
    };
    let against = |us: f64, label: &str| best(label).map_or("-".to_owned(), |base| format!("{:.2}", us / base));
    let faster = |us: f64| best(NODE).map_or("-".to_owned(), |base| format!("{:.0} x", base / us));
    let mut rows =
        vec![row!["program", "best ms", "median ms", "x true", "x bare dynamic", "faster than node", "instructions"]];
    for (program, found) in programs.iter().zip(&samples) {
        let us = found.best_us();
        rows.push(row![
            program.label,
            ms(us),
            ms(found.median_us()),
            against(us, TRUE),
            against(us, BARE),
            faster(us),
            millions(instructions(program, &payload(workspace.root(), u32::MAX))),
        ]);
    }
    let lacking_loader = |library: &str| best(&format!("bare Rust, static ({library})"));
    goals.ratio("plain, of the one beside", best(PLAIN), best(BESIDE), WantedRatio::AtMost(1.0));
    goals.ratio("plain, of a bare Rust program", best(PLAIN), best(BARE), WantedRatio::AtMost(1.25));
    goals.ratio("plain, of a bare static one (glibc)", best(PLAIN), lacking_loader("glibc"), WantedRatio::AtMost(2.0));
    goals.ratio(
        "shipped, of a bare static one (musl)",
        best(SHIPPED),
        lacking_loader("musl"),
        WantedRatio::AtMost(2.0),
    );
    goals.ratio("shipped, of /bin/true", best(SHIPPED), best(TRUE), WantedRatio::AtMost(1.0));
    goals.ratio("shipped, faster than node -e 0", best(NODE), best(SHIPPED), WantedRatio::AtLeast(60.0));
    table::print(&rows);
    Ok(())
}

fn compare_lengths(hooks: &[(&'static str, PathBuf)], workspace: &GuardWorkspace, goals: &mut Goals) -> Result<()> {
    let mut rows = vec![row!["program", "command", "best ms", "median ms"]];
    for (label, path) in hooks {
        let program = workspace.hook(label, path);
        let mut slowest: Option<f64> = None;
        for (kind, command) in long_commands() {
            let long = |round| payload_of(&command, workspace.root(), round);
            let found = one_of(time_all(std::slice::from_ref(&program), &long, ROUNDS)?);
            slowest = Some(slowest.unwrap_or_default().max(found.best_us()));
            rows.push(row![label, kind, ms(found.best_us()), ms(found.median_us())]);
        }
        if *label != BESIDE {
            goals.below(&format!("{label}, the slowest command of 16 KiB"), slowest, 5.0);
        }
    }
    table::print(&rows);
    Ok(())
}

fn compare_roots(hooks: &[(&'static str, PathBuf)], dispatch: &Path, goals: &mut Goals) -> Result<()> {
    let one = GuardWorkspace::new(dispatch, Scripts::None)?;
    let all = GuardWorkspace::new(dispatch, Scripts::None)?;
    all.add_roots()?;
    let mut rows = vec![row!["program", "rules of", "best ms", "median ms", "x one"]];
    for (label, path) in hooks {
        let alone = one.hook(label, path);
        let mut together = all.hook(label, path);
        together.variables.push((PROJECT_VARIABLE.to_owned(), all.root().display().to_string()));
        let mut samples = [Samples::default(), Samples::default()];
        for round in 0..=ROUNDS {
            let [first, second] = &mut samples;
            first.extend(one_of(time_all(std::slice::from_ref(&alone), &|_| payload(one.root(), round), 1)?));
            second.extend(one_of(time_all(std::slice::from_ref(&together), &|_| payload(&all.inner(), round), 1)?));
        }
        let [first, second] = samples.map(|found| (found.best_us(), found.median_us()));
        rows.push(row![label, "one folder", ms(first.0), ms(first.1), "1.00"]);
        rows.push(row![label, "three roots", ms(second.0), ms(second.1), format!("{:.2}", second.0 / first.0)]);
        if *label != BESIDE {
            let what = format!("{label}, three roots, of one");
            goals.ratio(&what, Some(second.0), Some(first.0), WantedRatio::AtMost(1.2));
        }
    }
    table::print(&rows);
    Ok(())
}

/// How a file came into the page cache changes its page faults, so the builds that are compared are all written now.
fn fresh_copy(program: &Path, to: &Path) -> Result<PathBuf> {
    std::fs::write(to, std::fs::read(program)?)?;
    std::fs::set_permissions(to, std::fs::metadata(program)?.permissions())?;
    Ok(to.to_owned())
}

fn one_of(samples: Vec<Samples>) -> Samples {
    samples.into_iter().next().unwrap_or_default()
}

fn compare_scripts(hooks: &[Program], workspace: &GuardWorkspace, goals: &mut Goals) -> Result<()> {
    let mut samples = time_all(hooks, &|round| payload(workspace.root(), round), ROUNDS)?;
    let peers = workspace.peers(find("node"), peers::bun()?);
    samples.extend(time_all(&peers, &|round| payload(workspace.root(), round), SLOW_ROUNDS)?);
    let programs: Vec<&Program> = hooks.iter().chain(&peers).collect();
    let of = |label: &str| {
        let at = programs.iter().position(|program| program.label.starts_with(label))?;
        samples.get(at).map(Samples::best_us)
    };
    let faster = |us: f64, label: &str| of(label).map_or("-".to_owned(), |base| format!("{:.1} x", base / us));
    let mut rows = vec![row!["program", "best ms", "median ms", "faster than Node", "faster than Bun", "instructions"]];
    for (program, found) in programs.iter().zip(&samples) {
        let us = found.best_us();
        let count = millions(instructions(program, &payload(workspace.root(), u32::MAX)));
        rows.push(row![program.label, ms(us), ms(found.median_us()), faster(us, "Node"), faster(us, "Bun"), count]);
    }
    for label in [PLAIN, SHIPPED] {
        let what = |peer: &str| format!("{label} with eight scripts, faster than {peer}");
        goals.ratio(&what("Node"), of("Node"), of(label), WantedRatio::AtLeast(25.0));
        goals.ratio(&what("Bun"), of("Bun"), of(label), WantedRatio::AtLeast(10.0));
    }
    table::print(&rows);
    Ok(())
}

fn growth(hooks: &[(&'static str, PathBuf)], dispatch: &Path, goals: &mut Goals) -> Result<()> {
    let empty = GuardWorkspace::new(dispatch, Scripts::None)?;
    let fresh = GuardWorkspace::new(dispatch, Scripts::None)?;
    let long = GuardWorkspace::new(dispatch, Scripts::None)?;
    let many = GuardWorkspace::new(dispatch, Scripts::None)?;
    let Some((_, hook)) = hooks.last() else { return Ok(()) };
    empty.fill_tail(hook)?;
    fresh.fill_tail(hook)?;
    long.fill_tail(hook)?;
    long.lengthen_log(LONG_LOG_BYTES)?;
    many.fill_tail(hook)?;
    many.add_sessions(MANY_SESSIONS)?;
    let mut rows = vec![row!["program", "history", "best ms", "median ms", "x empty", "instructions"]];
    for (label, path) in hooks {
        let places = [(EMPTY, &empty), ("log of 64 KiB", &fresh), ("log of 1 GiB", &long), ("1,000 sessions", &many)];
        let mut programs = Vec::new();
        let mut samples = vec![Samples::default(); places.len()];
        for (history, workspace) in places {
            let mut program = workspace.hook(label, path);
            program.label = history;
            programs.push((program, workspace));
        }
        // In turn, so that noise falls on all of them alike.
        for round in 0..=ROUNDS {
            for ((program, workspace), samples) in programs.iter().zip(&mut samples) {
                if program.label == EMPTY {
                    workspace.empty_log()?;
                }
                let one = time_all(std::slice::from_ref(program), &|_| payload(workspace.root(), round), 1)?;
                samples.extend(one_of(one));
            }
        }
        let base = samples.first().map_or(f64::NAN, Samples::best_us);
        for ((program, workspace), found) in programs.iter().zip(&samples) {
            let us = found.best_us();
            let count = millions(instructions(program, &payload(workspace.root(), u32::MAX)));
            let ratio = format!("{:.2}", us / base);
            if *label != BESIDE && program.label != EMPTY {
                let what = format!("{label}, {}, of {EMPTY}", program.label);
                goals.ratio(&what, Some(us), Some(base), WantedRatio::AtMost(1.1));
            }
            rows.push(row![label, program.label, ms(us), ms(found.median_us()), ratio, count]);
        }
    }
    table::print(&rows);
    Ok(())
}

fn ms(us: f64) -> String {
    format!("{:.2}", us / 1e3)
}

fn millions(count: Option<u64>) -> String {
    count.map_or("-".to_owned(), |count| format!("{:.3} M", count as f64 / 1e6))
}
