//! `cargo xtask picture`: draws the terminal session of the README, `docs/assets/session.svg`, from a real run.

use crate::cargo;
use anyhow::Result;
use std::path::Path;

/// The test that compares the picture with a fresh run writes it, so that there is one way to make it.
const TEST: &str = "the_picture_in_the_readme_is_what_a_real_session_prints";

pub(crate) fn run(root: &Path) -> Result<()> {
    for package in ["dispatch", "dispatch-hook"] {
        cargo::stdout(cargo::command(root).args(["build", "--quiet", "--package", package]))?;
    }
    let mut test = cargo::command(root);
    test.args(["test", "--quiet", "--package", "dispatch-it", "--test", "it", "--", TEST]);
    cargo::stdout(test.env("DISPATCH_WRITE_GENERATED", "1"))?;
    println!("docs/assets/session.svg is up to date");
    Ok(())
}
