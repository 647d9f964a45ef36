//! Programs that are not ours, installed once beside the build from their registries.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with this package, as `name==version`.
pub(crate) fn python(folder: &str, package: &str) -> PathBuf {
    let place = install(folder, &package.replace("==", "-"), |place| {
        let text = place.to_str().expect("a path as text");
        succeeds(Command::new("python3").args(["-m", "venv", "--clear", text]));
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package];
        succeeds(Command::new(place.join("bin/python")).args(quiet));
    });
    place.join("bin/python")
}

/// A folder with this package of npm, as `name@version`.
pub(crate) fn npm(folder: &str, package: &str) -> PathBuf {
    install(folder, &package.replace(['@', '/'], "-"), |place| {
        std::fs::create_dir_all(place).expect("a folder");
        let quiet = ["install", "--silent", "--no-audit", "--no-fund", "--prefix"];
        succeeds(Command::new("npm").args(quiet).arg(place).arg(package));
    })
}

/// Tests that want the same program are processes of their own, so a locked file keeps them apart.
fn install(folder: &str, version: &str, install: impl Fn(&Path)) -> PathBuf {
    let own = std::env::current_exe().expect("the path of this test");
    let folder = own.ancestors().nth(3).expect("the target folder").join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let alone = File::create(folder.join("installing")).expect("the file to lock");
    alone.lock().expect("the lock");
    let place = folder.join(version);
    let ready = place.join("ready");
    if !ready.is_file() {
        install(&place);
        std::fs::write(ready, "").expect("the mark");
    }
    place
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
