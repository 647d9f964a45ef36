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

/// Where Debian's packages are unpacked, of a release that is newer than this system or the same.
pub(crate) struct DebianFiles {
    root: PathBuf,
}

impl DebianFiles {
    /// A program for another C library than this system's: it is started by the loader that came with it.
    pub(crate) fn command(&self, program: &str) -> Command {
        let libraries = self.libraries();
        let mut found = std::fs::read_dir(&libraries).expect("libraries").flatten().map(|entry| entry.path());
        let is_loader =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-"));
        let mut command = Command::new(found.find(is_loader).expect("a loader"));
        command.arg("--library-path").arg(libraries).arg(self.path("usr/bin").join(program));
        command
    }

    pub(crate) fn libraries(&self) -> PathBuf {
        self.path("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH))
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// Packages of a release of Debian with everything they need, down to the C library. The system's own packages and its
/// list of them stay as they are.
pub(crate) fn debian(release: &str, packages: &[&str]) -> DebianFiles {
    let sources = format!(
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: {release}\nComponents: main\nSigned-By: \
         /usr/share/keyrings/debian-archive-keyring.gpg\n"
    );
    let place = install("debian", &format!("{release}-{}", packages.join("-")), |place| {
        std::fs::create_dir_all(place).expect("a folder");
        let (list, installed) = (place.join("apt.sources"), place.join("installed"));
        std::fs::write(&list, &sources).expect("the list of sources");
        std::fs::write(&installed, "").expect("the list of what is there");
        unpack(place, &list, &installed, packages);
    });
    DebianFiles { root: place.join("root") }
}

/// Packages of this very system that it lacks, with whatever else it lacks for them.
pub(crate) fn debian_here(packages: &[&str]) -> DebianFiles {
    let place = install("debian", &format!("here-{}", packages.join("-")), |place| {
        let list = Path::new("/etc/apt/sources.list.d/debian.sources");
        unpack(place, list, Path::new("/var/lib/dpkg/status"), packages);
    });
    DebianFiles { root: place.join("root") }
}

fn unpack(place: &Path, list: &Path, installed: &Path, packages: &[&str]) {
    let (state, cache) = (place.join("state"), place.join("cache"));
    for folder in [state.join("lists/partial"), cache.join("archives/partial")] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        let paths = [("Etc::SourceList", list), ("State", &state), ("State::Status", installed), ("Cache", &cache)];
        command.args(paths.map(|(name, path)| format!("-oDir::{name}={}", path.display())));
        command.args(["-oDir::Etc::SourceParts=/dev/null", "-oAPT::Sandbox::User=root", "-oAcquire::Languages=none"]);
        command.args(["-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "-oAcquire::Retries=3", "-qq"]);
        succeeds(command.args(words));
    };
    apt(&["update"]);
    apt(&[&["install", "--download-only", "--yes", "--no-install-recommends"], packages].concat());
    for package in std::fs::read_dir(cache.join("archives")).expect("packages").flatten() {
        if package.path().extension().is_some_and(|extension| extension == "deb") {
            succeeds(Command::new("dpkg-deb").arg("-x").arg(package.path()).arg(place.join("root")));
        }
    }
    for folder in [state, cache] {
        std::fs::remove_dir_all(folder).expect("nothing is left but the files");
    }
}

/// Tests that want the same program are processes of their own, so a locked file keeps them apart.
pub(crate) fn install(folder: &str, version: &str, install: impl Fn(&Path)) -> PathBuf {
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

pub(crate) fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
