//! The rows of the tables that name a program, looked up once for each program of a command.
//!
//! Pure.

use std::rc::Rc;

use super::interpreter::Interpreter;
use super::programs::{EndlessProgram, ReaderProgram, endless_rows, reader_row};
use super::runners::{RunnerProgram, runner_rows};

/// Programs that are remembered; a long command calls the same few again and again.
const MAX_PROGRAMS: usize = 32;

/// What the long tables say of one program.
pub(super) struct ProgramRows {
    name: String,
    pub(super) runners: Vec<&'static RunnerProgram>,
    pub(super) reader: Option<&'static ReaderProgram>,
    pub(super) endless: Vec<&'static EndlessProgram>,
}

impl Interpreter {
    /// The rows of a program.
    pub(super) fn rows(&mut self, program: &str) -> Rc<ProgramRows> {
        if let Some(known) = self.program_rows.iter().find(|rows| rows.name == program) {
            return Rc::clone(known);
        }
        let rows = Rc::new(ProgramRows {
            name: program.to_owned(),
            runners: runner_rows(program),
            reader: reader_row(program),
            endless: endless_rows(program),
        });
        if self.program_rows.len() < MAX_PROGRAMS {
            self.program_rows.push(Rc::clone(&rows));
        }
        rows
    }
}
