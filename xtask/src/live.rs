//! `cargo xtask live`: real agents from their registry, each driven with a scripted model in scratch projects, and the
//! table in `docs/hosts.md` that says what they did.

mod checks;
mod install;
mod record;
mod table;

use crate::{Verdict, cargo};
use anyhow::{Context as _, Result, bail};
use checks::DrivenHost;
use dispatch_live_hosts::{HostDriver, all, by_id};
use dispatch_os::{environment, files};
use std::path::{Path, PathBuf};
use table::HostRow;

/// Below this the installation of an agent is removed before the next one comes.
const SPARE_BYTES: u64 = 14 * 1024 * 1024 * 1024;
const PAGE: &str = "docs/hosts.md";

pub(crate) fn run(root: &Path, names: &[&str]) -> Result<Verdict> {
    let hosts = chosen(names)?;
    let target = cargo::metadata(root)?.target_directory;
    build(root)?;
    let cache = target.join("live");
    let node = install::node(&cache)?;
    let mut rows = Vec::new();
    for host in hosts {
        println!("{}", host.id());
        let program = install::agent(&cache, host)?;
        let driven = DrivenHost::new(host, program, search_path(&target.join("debug"), &node), target.join("debug"))?;
        let row = checks::check(&driven)?;
        println!("{}", row.line());
        write_page(root, &row)?;
        rows.push(row);
        if files::free_bytes(&cache).is_some_and(|free| free < SPARE_BYTES) {
            install::remove(&cache, host)?;
        }
    }
    println!("{PAGE} is up to date");
    Ok(if rows.iter().all(HostRow::holds) { Verdict::Good } else { Verdict::Broken })
}

fn chosen(names: &[&str]) -> Result<Vec<&'static dyn HostDriver>> {
    if names.is_empty() {
        return Ok(all().to_vec());
    }
    let known = || all().iter().map(|host| host.id()).collect::<Vec<_>>().join(", ");
    names
        .iter()
        .map(|name| by_id(name).with_context(|| format!("cannot drive host `{name}`; the hosts are: {}", known())))
        .collect()
}

fn build(root: &Path) -> Result<()> {
    let packages = ["--package", "dispatch", "--package", "dispatch-hook"];
    let status = cargo::command(root).arg("build").args(packages).status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("dispatch could not be built") }
}

/// The folders in which an agent finds programs: ours first.
fn search_path(ours: &Path, node: &Path) -> Vec<PathBuf> {
    let system = environment::variable_os("PATH").unwrap_or_default();
    let system = environment::split_paths(&system).filter(|folder| !folder.join("dispatch-hook").is_file());
    [ours.to_owned(), node.to_owned()].into_iter().chain(system).collect()
}

fn write_page(root: &Path, row: &HostRow) -> Result<()> {
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let page = table::with_rows(&page, std::slice::from_ref(row));
    std::fs::write(&path, page).with_context(|| format!("cannot write {PAGE}"))
}
