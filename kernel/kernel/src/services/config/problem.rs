//! A problem with the settings, and which layer it came from.

use dispatch_contracts::settings::Origin;
use std::fmt;

/// One thing that is wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The dotted name of the setting; empty when a layer is wrong as a whole.
    pub name: String,
    /// What is wrong, in words for people.
    pub message: String,
    /// Who set the value; for a missing one, who last touched the table it belongs to.
    pub origin: Origin,
    /// What would help, when that is known.
    pub hint: Option<String>,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(out, "{}: ", self.name)?;
        }
        out.write_str(&self.message)?;
        match &self.origin {
            Origin::BuiltIn => out.write_str(" (built in)"),
            Origin::Global { file } | Origin::Project { file } => write!(out, " (in {file})"),
            Origin::Environment { variable } => write!(out, " (from the variable {variable})"),
            Origin::Flag { flag } => write!(out, " (from {flag})"),
        }
    }
}

impl std::error::Error for ConfigProblem {}
