//! The workflow that checks the intents of a pull request.

use super::layout::LayoutFile;

const GITHUB_FILE: &str = ".github/workflows/intents.yml";
const GITHUB: &str = include_str!("assets/intents.yml");

/// A service that runs workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CiService {
    /// GitHub Actions: .github/workflows/intents.yml
    Github,
}

impl CiService {
    /// Its file; one that is there already stays.
    pub(super) fn file(self) -> LayoutFile {
        match self {
            Self::Github => LayoutFile::of_user(GITHUB_FILE, GITHUB),
        }
    }
}
