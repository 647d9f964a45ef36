//! Which changed files call for a decision to be written down.
//!
//! Pure.

use dispatch_glob::Glob;
use dispatch_hook_module::Context;
use serde::Deserialize;

use crate::followup::compile_path;

/// What can be set for the module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StopSynthSettings {
    /// Patterns of files that name dependencies.
    manifests: Vec<String>,
    /// Files that others rely on.
    interfaces: Vec<PathRule>,
}

/// Files that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PathRule {
    /// What they are.
    name: String,
    /// Patterns of their paths.
    paths: Vec<String>,
}

impl Default for StopSynthSettings {
    fn default() -> Self {
        let list = |names: &[&str]| names.iter().map(|name| format!("**/{name}")).collect::<Vec<_>>();
        let rule = |name: &str, paths: &[&str]| PathRule { name: name.to_owned(), paths: list(paths) };
        Self {
            manifests: list(&[
                "Cargo.toml",
                "package.json",
                "deno.json",
                "go.mod",
                "pyproject.toml",
                "requirements*.txt",
                "Pipfile",
                "setup.py",
                "setup.cfg",
                "environment.yml",
                "Gemfile",
                "*.gemspec",
                "composer.json",
                "pom.xml",
                "build.gradle",
                "build.gradle.kts",
                "libs.versions.toml",
                "*.csproj",
                "*.fsproj",
                "Package.swift",
                "pubspec.yaml",
                "mix.exs",
                "conanfile.txt",
                "conanfile.py",
                "vcpkg.json",
                "flake.nix",
            ]),
            interfaces: vec![
                rule(
                    "Database schema",
                    &["migrations/**", "schema.prisma", "schema.rb", "schema.sql", "structure.sql"],
                ),
                rule("Protocol definitions", &["*.proto", "*.thrift", "*.avsc", "*.fbs", "*.capnp", "*.wit"]),
                rule(
                    "HTTP interface",
                    &["openapi*.json", "openapi*.yaml", "openapi*.yml", "swagger*.json", "swagger*.yaml"],
                ),
                rule("GraphQL schema", &["*.graphql", "*.graphqls"]),
                rule("JSON Schema", &["*.schema.json"]),
                rule("Type declarations", &["*.d.ts", "*.pyi"]),
            ],
        }
    }
}

/// The patterns of the settings, ready to match.
pub(super) struct PathRules {
    manifests: Vec<Glob>,
    interfaces: Vec<(String, Vec<Glob>)>,
}

impl PathRules {
    /// The rules in force. A pattern that does not compile is reported and left out.
    pub(super) fn of(ctx: &Context<'_>) -> Self {
        Self::new(ctx.settings(), &|problem| ctx.warn(problem))
    }

    fn new(settings: StopSynthSettings, warn: &dyn Fn(String)) -> Self {
        let glob = |pattern: &String| compile_path(pattern).map_err(|cause| warn(cause.to_string())).ok();
        let globs = |patterns: &[String]| patterns.iter().filter_map(glob).collect::<Vec<_>>();
        let interface = |rule: PathRule| (rule.name, globs(&rule.paths));
        Self {
            manifests: globs(&settings.manifests),
            interfaces: settings.interfaces.into_iter().map(interface).collect(),
        }
    }

    /// The name of the manifest that a path is, without its folder.
    pub(super) fn manifest<'p>(&self, path: &'p str) -> Option<&'p str> {
        let is_manifest = self.manifests.iter().any(|glob| glob.is_match(path));
        is_manifest.then(|| path.rsplit('/').next().unwrap_or(path))
    }

    /// The interface that a path belongs to.
    pub(super) fn interface(&self, path: &str) -> Option<&str> {
        let (name, _) = self.interfaces.iter().find(|(_, globs)| globs.iter().any(|glob| glob.is_match(path)))?;
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_call_for_a_decision() {
        let rules = PathRules::new(StopSynthSettings::default(), &|problem| panic!("{problem}"));
        let table = [
            ("Cargo.toml", Some("Cargo.toml"), None),
            ("crates/a/Cargo.toml", Some("Cargo.toml"), None),
            ("requirements-dev.txt", Some("requirements-dev.txt"), None),
            ("app/App.csproj", Some("App.csproj"), None),
            ("Cargo.lock", None, None),
            ("src/package.json.rs", None, None),
            ("db/migrations/0001/up.sql", None, Some("Database schema")),
            ("api/v1/user.proto", None, Some("Protocol definitions")),
            ("openapi.v2.yaml", None, Some("HTTP interface")),
            ("types/index.d.ts", None, Some("Type declarations")),
            ("x.schema.json", None, Some("JSON Schema")),
            ("src/main.rs", None, None),
            ("docs/migrations.md", None, None),
        ];
        for (path, manifest, interface) in table {
            assert_eq!((rules.manifest(path), rules.interface(path)), (manifest, interface), "{path}");
        }
    }
}
