//! `dispatch ext install`: fetches an extension, shows what it is and asks for, and installs it once a person agreed.

mod fetch;
mod source;
pub(in crate::commands) mod surface;

use super::scratch_folder::ScratchFolder;
use crate::app::Status;
use crate::commands::trust::{GrantChoice, approve_own, offer_grants, review};
use crate::compose;
use crate::external_extensions::core_ids;
use crate::failure::Failure;
use crate::policy_change::{confirm, require_person};
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_contracts::API_VERSION;
use dispatch_contracts::manifest::{Manifest, Trust};
use dispatch_kernel::host::manifest::parse_from;
use dispatch_os::files;
use dispatch_script_extension::{ExtensionFolder, FoundExtension, FoundState, MANIFEST_FILE, Place, SearchFolders};
use fetch::{FetchedPackage, fetch, install_package};
use std::path::PathBuf;

/// Where packed packages are kept that npm was given, below the user's extensions.
const PACKAGES_FOLDER: &str = ".packages";

pub(super) fn run(loaded: &Loaded, from: &str, grant: GrantChoice, printer: &Printer) -> Result<Status, Failure> {
    let source = source::parse(from).map_err(|reason| {
        Failure::usage(reason).hint("name a folder, a packed package (.tgz), `npm:NAME` or a git address")
    })?;
    require_person(loaded, "install an extension")?;
    let scratch = ScratchFolder::below(&loaded.dirs.cache, "ext-install")?;
    let fetched = fetch(&source, &loaded.start, scratch.path())?;
    let folder = ExtensionFolder::read(&fetched.folder).map_err(|error| Failure::configuration(error.to_string()))?;
    let manifest = checked_manifest(&folder, from)?;
    let before = installed(loaded, &manifest);
    printer.out(&shown(&manifest, from));
    ask(loaded, &manifest, before, printer)?;
    let place = match &fetched.package {
        Some(package) => install_as_package(loaded, package)?,
        None => install_as_folder(loaded, &folder, &manifest)?,
    };
    let now = ExtensionFolder::read(&place).map_err(|error| Failure::internal(error.to_string()))?;
    if now.content() != folder.content() {
        return Err(Failure::internal(format!("{} is not what was shown, so it is not approved", place.display()))
            .hint(format!("look at it, then run `dispatch trust {}`", place.display())));
    }
    approve_own(loaded, &place)?;
    printer.out(&format!("installed `{}` {} in {}", manifest.id, manifest.version, place.display()));
    offer_grants(loaded, &manifest, grant, printer)?;
    Ok(Status::Done)
}

fn checked_manifest(folder: &ExtensionFolder, from: &str) -> Result<Manifest, Failure> {
    let wrong = |reason: String| {
        Failure::configuration(format!("{from} is not an extension: {MANIFEST_FILE}: {reason}"))
            .hint("the fields of a manifest are in `dispatch schema extension-manifest`")
    };
    let text =
        folder.manifest().ok_or_else(|| wrong("there is no such file, or it is not text in UTF-8".to_owned()))?;
    let manifest = parse_from(text, Trust::External)
        .map_err(|problems| wrong(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    if !manifest.api_version.matches(&API_VERSION) {
        return Err(wrong(format!("`apiVersion` is `{}`, and this program has {API_VERSION}", manifest.api_version)));
    }
    if core_ids(&compose::bundled()).contains(&manifest.id) {
        return Err(wrong(format!("`id` is `{}`, which is part of the core of the program", manifest.id)));
    }
    Ok(manifest)
}

/// What the user decides about.
fn shown(manifest: &Manifest, from: &str) -> String {
    let described = Some(manifest.description.as_str()).filter(|text| !text.is_empty()).unwrap_or(&manifest.name);
    format!("`{}` {} from {from}\n  {described}{}", manifest.id, manifest.version, review(manifest))
}

/// The extension of this id that the user has now and approved.
fn installed<'a>(loaded: &'a Loaded, manifest: &Manifest) -> Option<&'a FoundExtension> {
    let is_it = |found: &&FoundExtension| {
        found.id == manifest.id.as_str()
            && matches!(found.place, Place::User | Place::UserPackages)
            && matches!(found.state, FoundState::Approved(_) | FoundState::Shadowed(_))
    };
    loaded.externals.found.iter().find(is_it)
}

/// A new extension needs a yes; a new version of one only where it can do more than the old one.
fn ask(
    loaded: &Loaded,
    manifest: &Manifest,
    before: Option<&FoundExtension>,
    printer: &Printer,
) -> Result<(), Failure> {
    let (id, version) = (&manifest.id, &manifest.version);
    let Some(old) = before.and_then(|found| found.manifest.as_ref()) else {
        return confirm(loaded, &format!("install and approve the extension `{id}` {version}"), printer);
    };
    let more = surface::widened(old, manifest);
    if more.is_empty() {
        printer.out(&format!("  it can do no more than version {}, which you approved", old.version));
        return Ok(());
    }
    printer.out(&format!("  new since version {}: {}", old.version, more.join(", ")));
    confirm(
        loaded,
        &format!("update the extension `{id}` to {version}, which can do more than {}", old.version),
        printer,
    )
}

fn user_folder(loaded: &Loaded) -> PathBuf {
    let folders = SearchFolders { project: None, config: loaded.dirs.config.clone(), ..SearchFolders::default() };
    folders.of(Place::User).unwrap_or_default()
}

fn install_as_package(loaded: &Loaded, package: &FetchedPackage) -> Result<PathBuf, Failure> {
    let prefix = user_folder(loaded);
    let kept = prefix.join(PACKAGES_FOLDER);
    let failed =
        |error: std::io::Error| Failure::internal(format!("cannot write {}", kept.display())).caused_by(&error);
    files::create_dir_all(&kept).map_err(failed)?;
    let tarball = kept.join(package.tarball.file_name().unwrap_or_default());
    files::copy(&package.tarball, &tarball).map_err(failed)?;
    install_package(&tarball, &prefix)?;
    Ok(prefix.join("node_modules").join(&package.name))
}

fn install_as_folder(loaded: &Loaded, folder: &ExtensionFolder, manifest: &Manifest) -> Result<PathBuf, Failure> {
    let place = user_folder(loaded).join(manifest.id.as_str());
    let failed =
        |error: std::io::Error| Failure::internal(format!("cannot write {}", place.display())).caused_by(&error);
    if files::exists(&place) {
        files::remove_dir_all(&place).map_err(failed)?;
    }
    for name in folder.names() {
        let path = place.join(name);
        if let Some(parent) = path.parent() {
            files::create_dir_all(parent).map_err(failed)?;
        }
        files::write(&path, folder.bytes(name).unwrap_or_default()).map_err(failed)?;
        // A program may consist of files that are executed.
        let permissions = files::metadata(folder.path().join(name)).map_err(failed)?.permissions();
        files::set_permissions(&path, permissions).map_err(failed)?;
    }
    Ok(place)
}
