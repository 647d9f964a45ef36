//! Judges each line of standard input as a shell command and prints decision, code and line.

#![allow(clippy::disallowed_methods, reason = "an example measures the real thing")]
#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::panic, reason = "a line without a report is a defect")]

#[path = "../tests/support/judged_line.rs"]
mod judged_line;

use judged_line::{GuardedProject, ModuleSet, lines};

fn main() -> std::io::Result<()> {
    let set = if std::env::args().any(|word| word == "--full") { ModuleSet::Full } else { ModuleSet::Default };
    let project = GuardedProject::new(set)?;
    let text = std::io::read_to_string(std::io::stdin())?;
    for (kind, line) in lines(&text) {
        let (decision, code) = project.judge(line);
        println!("{}\t{code}\t{kind}\t{line}", decision.as_str());
    }
    Ok(())
}
