//! A sound little repository in a temporary folder, to plant violations in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A repository that passes every check until something is planted.
pub(crate) struct Repository {
    folder: TempDir,
}

/// What a run of the executable gave.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

const ROOT: &str = "[workspace]\nresolver = \"3\"\nmembers = [\"kernel/*\", \"platform/*\", \"extensions/core/*\", \"extensions/standard/*\", \"apps/*\", \"testing/*\"]\n\n[profile.hook]\ninherits = \"release\"\npanic = \"abort\"\n";

const FORBID: &str = "//! Why.\n#![forbid(unsafe_code, clippy::disallowed_methods, clippy::disallowed_types)]\n";

const CRATES: &[(&str, &str, &str)] = &[
    ("kernel/contracts", "dispatch-contracts", ""),
    ("kernel/kernel", "dispatch-kernel", "dispatch-contracts = { path = \"../contracts\" }\n"),
    ("platform/os", "dispatch-os", "dispatch-contracts = { path = \"../../kernel/contracts\" }\n"),
    ("extensions/core/store", "ext-store", "dispatch-os = { path = \"../../../platform/os\" }\n"),
    ("extensions/standard/broker", "ext-broker", "ext-store = { path = \"../../core/store\" }\n"),
    ("apps/dispatch-hook", "dispatch-hook", "dispatch-os = { path = \"../../platform/os\" }\n"),
    ("testing/support", "dispatch-support", "ext-store = { path = \"../../extensions/core/store\" }\n"),
];

// A pure file, one door, and the harness embedded, in code that compiles.
const EXTENSION: &str = "//! Why.\n//!\n//! Pure.\npub mod contract;\nmacro_rules! harness { () => { () }; }\npub fn extension() { harness!() }\n";

const HARNESS: &[(&str, &str)] = &[
    ("AGENTS.md", "# For agents\n\nWhy.\n"),
    ("docs/rules.md", "# Rules\n\n- Why.\n"),
    ("docs/feature.md", "# Feature\n\nWhy.\n"),
    ("docs/glossary.md", "# Words\n\n| word | means | do not say |\n|---|---|---|\n"),
];

impl Repository {
    /// Writes the sound repository.
    pub(crate) fn sound() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Self { folder };
        repository.write("Cargo.toml", ROOT);
        repository.write("clippy.toml", "allow-unwrap-in-tests = true\n");
        repository.write("kernel/clippy.toml", "allow-unwrap-in-tests = true\n");
        for (path, name, dependencies) in CRATES {
            repository.write_crate(path, name, dependencies);
        }
        for path in ["kernel/contracts", "kernel/kernel"] {
            repository.write(&format!("{path}/src/lib.rs"), FORBID);
        }
        repository.write("apps/dispatch-hook/src/main.rs", "//! Why.\nfn main() {}\n");
        repository.write("extensions/core/store/manifest.json", "{ \"id\": \"store\", \"tier\": \"core\" }\n");
        repository.write(
            "extensions/standard/broker/manifest.json",
            "{ \"id\": \"broker\", \"tier\": \"standard\", \"dependsOn\": [\"store\"] }\n",
        );
        for extension in ["extensions/core/store", "extensions/standard/broker"] {
            repository.write(&format!("{extension}/src/lib.rs"), EXTENSION);
            repository.write(&format!("{extension}/src/contract.rs"), "//! Why.\n");
            for (path, text) in HARNESS {
                repository.write(&format!("{extension}/{path}"), text);
            }
        }
        repository.write("kernel/contracts/surface.txt", "# dispatch-contracts 0.1.0\n");
        repository.write("xtask/kernel-closure.txt", "dispatch-contracts  the ABI\ndispatch-kernel  the kernel\n");
        repository.write("xtask/hook-crates.txt", "# Why.\nmax-bytes = 50000000\ndispatch-contracts\ndispatch-os\n");
        repository
    }

    /// Writes a library crate with one file.
    pub(crate) fn write_crate(&self, path: &str, name: &str, dependencies: &str) {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}"
        );
        self.write(&format!("{path}/Cargo.toml"), &manifest);
        self.write(&format!("{path}/src/lib.rs"), "//! Why.\n");
    }

    /// Writes one file.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.path(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    /// Adds to the end of a file.
    pub(crate) fn append(&self, path: &str, text: &str) {
        let before = self.read(path);
        self.write(path, &(before + text));
    }

    /// Reads one file.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Runs the executable, after bringing the lock file up to date.
    pub(crate) fn xtask(&self, arguments: &[&str]) -> Run {
        let locked = self.command(Path::new(env!("CARGO"))).args(["generate-lockfile", "--offline"]).output();
        assert!(locked.as_ref().unwrap().status.success(), "{locked:?}");
        let output = self.command(Path::new(env!("CARGO_BIN_EXE_xtask"))).args(arguments).output();
        Run::of(output.unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        command.env("CARGO_TARGET_DIR", self.path("target"));
        command.env("CARGO_NET_OFFLINE", "true");
        command
    }
}

impl Run {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts that the run passed.
    pub(crate) fn assert_passed(&self) {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
    }

    /// Asserts that exactly the given check found something and that it says so.
    pub(crate) fn assert_broken(&self, check: &str, message: &str) {
        assert_eq!(self.code, Some(1), "{check}: {}{}", self.stdout, self.stderr);
        assert!(self.stderr.contains(&format!("error[{check}]")), "{check}: {}", self.stderr);
        assert!(self.stderr.contains(message), "{check}: {message}: {}", self.stderr);
        assert!(self.stderr.contains("  hint: "), "{check}: {}", self.stderr);
        let others = self.stderr.lines().filter(|line| line.starts_with("error["));
        let others: Vec<_> = others.filter(|line| !line.starts_with(&format!("error[{check}]"))).collect();
        assert!(others.is_empty(), "{check}: {others:?}");
    }
}
