//! The model of crates, layers and extension manifests that the layer checks read.

use crate::cargo::CrateVersion;
use crate::source::SourceTree;
use std::fmt;

mod load;

pub(crate) use load::load;

/// The layer of a crate: its top folder, and for extensions the tier folder below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// `kernel/`
    Kernel,
    /// `platform/`
    Platform,
    /// `extensions/<tier>/`
    Extension(Tier),
    /// `apps/`
    Apps,
    /// `testing/`
    Testing,
    /// `benches/`
    Benches,
    /// `sdk/examples/`
    Examples,
    /// `xtask/`
    Xtask,
}

/// The tier of a bundled extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Runs in every product, also with `--minimal`.
    Core,
    /// Can be left out.
    Standard,
}

impl Layer {
    /// The layer of a folder, or `None` when the folder is in no layer.
    pub(crate) fn of(folder: &str) -> Option<Self> {
        let parts: Vec<_> = folder.split('/').collect();
        match parts.as_slice() {
            ["kernel", _, ..] => Some(Self::Kernel),
            ["platform", _, ..] => Some(Self::Platform),
            ["extensions", "core", _, ..] => Some(Self::Extension(Tier::Core)),
            ["extensions", "standard", _, ..] => Some(Self::Extension(Tier::Standard)),
            ["apps", _, ..] => Some(Self::Apps),
            ["testing", _, ..] => Some(Self::Testing),
            ["benches", ..] => Some(Self::Benches),
            ["sdk", "examples", _] => Some(Self::Examples),
            ["xtask"] => Some(Self::Xtask),
            _ => None,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::Platform => "platform",
            Self::Extension(Tier::Core) => "core extension",
            Self::Extension(Tier::Standard) => "standard extension",
            Self::Apps => "apps",
            Self::Testing => "testing",
            Self::Benches => "benches",
            Self::Examples => "examples",
            Self::Xtask => "xtask",
        })
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "core",
            Self::Standard => "standard",
        })
    }
}

/// The kind of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// Linked into the artefact.
    Normal,
    /// Used by the build script.
    Build,
    /// Used by tests, examples and benches of the crate.
    Dev,
}

impl fmt::Display for DependencyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "normal dependency",
            Self::Build => "build dependency",
            Self::Dev => "dev-dependency",
        })
    }
}

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    /// Crate name.
    pub(crate) name: String,
    /// Folder relative to the root, with `/`.
    pub(crate) folder: String,
    /// Dependencies on other crates of the repository.
    pub(crate) imports: Vec<Import>,
}

/// A dependency on another crate of the repository.
#[derive(Debug)]
pub(crate) struct Import {
    /// Folder of the imported crate.
    pub(crate) folder: String,
    /// How it is imported.
    pub(crate) kind: DependencyKind,
    /// The name given to it, when that is not its own.
    pub(crate) rename: Option<String>,
}

/// What a bundled extension's `manifest.json` says about its place.
#[derive(Debug)]
pub(crate) struct ExtensionManifest {
    /// Folder of the extension, `extensions/<tier>/<id>`.
    pub(crate) folder: String,
    /// The facts, or why they cannot be read.
    pub(crate) facts: Result<ManifestFacts, String>,
}

/// The fields of a manifest that the layer checks need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestFacts {
    /// `id`
    pub(crate) id: String,
    /// `tier`
    pub(crate) tier: String,
    /// Ids in `dependsOn`.
    pub(crate) depends_on: Vec<String>,
}

/// The dependency closure of the kernel crates, and the list that allows it.
#[derive(Debug, Default)]
pub(crate) struct KernelClosure {
    /// With default features.
    pub(crate) default: Vec<CrateVersion>,
    /// With every feature.
    pub(crate) all_features: Vec<CrateVersion>,
    /// Crates of either closure whose build script links a native library: crate and library.
    pub(crate) native: Vec<(CrateVersion, String)>,
    /// The text of `xtask/kernel-closure.txt`.
    pub(crate) allow_list: String,
}

/// Everything the layer checks read.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Crates of the workspace.
    pub(crate) members: Vec<Member>,
    /// Manifests of the bundled extensions.
    pub(crate) manifests: Vec<ExtensionManifest>,
    /// The text files.
    pub(crate) sources: SourceTree,
    /// The kernel's dependencies.
    pub(crate) kernel: KernelClosure,
}

impl Workspace {
    /// The readable facts of the extension in a folder.
    pub(crate) fn facts(&self, folder: &str) -> Option<&ManifestFacts> {
        let manifest = self.manifests.iter().find(|manifest| manifest.folder == folder)?;
        manifest.facts.as_ref().ok()
    }
}

/// The last part of a folder: the id of what lives there.
pub(crate) fn id_of(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}
