//! Checks the files that a subagent owes for a rule.
//!
//! Pure.

use std::path::Path;

use dispatch_glob::Glob;
use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::{Artifact, Context};
use serde_json::Value;

use super::policy::{DelegationRule, RuleOutput};
use super::schema;
use crate::modules::subagent_output::{FILE_LIMIT_BYTES, SubagentOutputFolder, is_left_over};

const MAX_FILES: usize = 256;
const MAX_DEPTH: usize = 3;
const MAX_PROBLEMS_PER_FILE: usize = 5;
/// What we put into the folder ourselves.
const OWN_FILE: &str = "contract.md";

/// The files, or what is missing or wrong. A rule that asks for none is met by the subagent itself.
pub(super) fn check(
    ctx: &Context<'_>,
    folder: &SubagentOutputFolder,
    rule: &DelegationRule,
) -> Result<Vec<Artifact>, Vec<String>> {
    let Some(output) = &rule.require.output else {
        return Ok(Vec::new());
    };
    let glob = Glob::new(&output.glob).map_err(|error| vec![format!("the glob of `{}`: {error}", rule.id)])?;
    let mut names = Vec::new();
    list(ctx, &folder.path, "", MAX_DEPTH, &mut names);
    let names: Vec<String> = names
        .into_iter()
        .filter(|name| name != OWN_FILE && glob.is_match(name) && !is_left_over(ctx, &folder.path.join(name)))
        .collect();
    if names.is_empty() {
        return Err(vec![format!("no file matches `{}` (rule `{}`)", output.glob, rule.id)]);
    }
    let mut problems = Vec::new();
    let files = names.iter().filter_map(|name| file(ctx, folder, name, output, &mut problems)).collect();
    if problems.is_empty() { Ok(files) } else { Err(problems) }
}

/// The files below a folder, relative to it, a few levels deep.
fn list(ctx: &Context<'_>, folder: &Path, prefix: &str, depth: usize, found: &mut Vec<String>) {
    for name in ctx.session.list(folder, MAX_FILES) {
        if found.len() >= MAX_FILES {
            return;
        }
        let path = folder.join(&name);
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let is_folder = depth > 0 && !ctx.session.list(&path, 1).is_empty();
        if is_folder {
            list(ctx, &path, &name, depth - 1, found);
        } else {
            found.push(name);
        }
    }
}

fn file(
    ctx: &Context<'_>,
    folder: &SubagentOutputFolder,
    name: &str,
    output: &RuleOutput,
    problems: &mut Vec<String>,
) -> Option<Artifact> {
    let Some(bytes) = ctx.session.read(&folder.path.join(name), FILE_LIMIT_BYTES) else {
        problems.push(format!("{name} cannot be read or has more than {FILE_LIMIT_BYTES} bytes"));
        return None;
    };
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => {
            problems.push(format!("{name} is not JSON: {error}"));
            return None;
        }
    };
    if let Some(schema) = &output.schema {
        match schema::resolve(ctx, schema) {
            Some(schema) => {
                let found = schema::violations(&schema, &value);
                problems.extend(found.iter().take(MAX_PROBLEMS_PER_FILE).map(|problem| format!("{name}: {problem}")));
            }
            None => ctx.warn(format!("the schema {schema} cannot be read, so {name} was not checked against it")),
        }
    }
    Some(Artifact {
        kind: "rlmOutput".to_owned(),
        path: format!("{}/{name}", folder.shown),
        sha256: Some(sha256_hex(&bytes)),
        bytes: Some(bytes.len() as u64),
        ..Artifact::default()
    })
}
