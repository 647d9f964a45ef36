//! Where the import of a package leads inside the folder of an extension.
//!
//! Pure.

use serde_json::{Map, Value};

/// The conditions of `exports` that hold here, whatever their order in the file.
const CONDITIONS: [&str; 3] = ["import", "module", "default"];
/// How deep conditions may nest.
const MAX_CONDITION_DEPTH: usize = 8;

/// The modules of Node, which do not exist here.
const NODE_MODULES: [&str; 39] = [
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "timers",
    "tls",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "worker_threads",
    "zlib",
];

/// What a specifier that is no path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PackageImport<'a> {
    /// `name` or `@scope/name`.
    pub(crate) package: &'a str,
    /// `.` or `./path`, as `exports` has it.
    pub(crate) subpath: String,
}

impl<'a> PackageImport<'a> {
    /// Reads a specifier; modules of Node are refused.
    pub(crate) fn read(specifier: &'a str) -> Result<Self, String> {
        let builtin = specifier.strip_prefix("node:").unwrap_or(specifier);
        let (first, _) = builtin.split_once('/').unwrap_or((builtin, ""));
        if specifier.starts_with("node:") || NODE_MODULES.contains(&first) {
            return Err(format!("`{specifier}` is a module of Node, which does not exist here; use the host instead"));
        }
        let end = match specifier.strip_prefix('@') {
            Some(_) => specifier.match_indices('/').nth(1).map_or(specifier.len(), |(at, _)| at),
            None => specifier.find('/').unwrap_or(specifier.len()),
        };
        let (package, rest) = specifier.split_at(end);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'/');
        let is_name = package.bytes().all(is_plain) && !package.starts_with(['.', '/']) && !package.contains("..");
        if package.is_empty() || !is_name || (package.starts_with('@') && !package.contains('/')) {
            return Err(format!("`{specifier}` is neither a relative path nor the name of a package"));
        }
        Ok(Self { package, subpath: format!(".{rest}") })
    }
}

/// The folders in which a package may be for the file `referrer`, nearest first.
pub(crate) fn folders(package: &str, referrer: &str) -> Vec<String> {
    let mut parts: Vec<&str> = referrer.split('/').collect();
    let mut found = Vec::new();
    while parts.pop().is_some() {
        if parts.last() != Some(&"node_modules") {
            let below = if parts.is_empty() { String::new() } else { format!("{}/", parts.join("/")) };
            found.push(format!("{below}node_modules/{package}"));
        }
    }
    found
}

/// The file inside a package that an import of it means, below the package's folder.
pub(crate) fn entry(manifest: &Map<String, Value>, subpath: &str) -> Result<String, String> {
    if let Some(exports) = manifest.get("exports").filter(|exports| !exports.is_null()) {
        let target = exported(exports, subpath).ok_or_else(|| format!("it does not export `{subpath}`"))?;
        return inside(&target);
    }
    if subpath != "." {
        return inside(subpath);
    }
    let named = |field: &str| manifest.get(field).and_then(Value::as_str);
    inside(named("module").or_else(|| named("main")).unwrap_or("index.js"))
}

fn inside(target: &str) -> Result<String, String> {
    let path = target.strip_prefix("./").unwrap_or(target);
    if path.split('/').any(|part| part == "..") || path.starts_with('/') {
        return Err(format!("`{target}` leads out of the package"));
    }
    Ok(path.to_owned())
}

fn exported(exports: &Value, subpath: &str) -> Option<String> {
    let by_subpath = exports.as_object().filter(|fields| fields.keys().any(|key| key.starts_with('.')));
    let Some(fields) = by_subpath else {
        return (subpath == ".").then(|| condition(exports, 0)).flatten();
    };
    if let Some(target) = fields.get(subpath) {
        return condition(target, 0);
    }
    let patterns = fields.iter().filter_map(|(key, target)| {
        let (before, after) = key.split_once('*')?;
        let middle = subpath.strip_prefix(before)?.strip_suffix(after)?;
        Some((before.len(), condition(target, 0)?.replace('*', middle)))
    });
    patterns.max_by_key(|(length, _)| *length).map(|(_, target)| target)
}

fn condition(target: &Value, depth: usize) -> Option<String> {
    match target {
        Value::String(path) => Some(path.clone()),
        Value::Object(fields) if depth < MAX_CONDITION_DEPTH => {
            let holding = CONDITIONS.iter().filter_map(|name| fields.get(*name));
            holding.filter_map(|target| condition(target, depth + 1)).next()
        }
        Value::Array(targets) => targets.iter().find_map(|target| condition(target, depth + 1)),
        _ => None,
    }
}

/// Whether a module is written for `require` alone, told by its name, its package and its text.
pub(crate) fn is_common_js(name: &str, manifest: &Map<String, Value>, text: &str) -> bool {
    if name.ends_with(".cjs") {
        return true;
    }
    let is_module = manifest.get("type").and_then(Value::as_str) == Some("module");
    let has_word = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
    let is_old = text.contains("module.exports") || text.contains("exports.") || text.contains("require(");
    !is_module
        && name.ends_with(".js")
        && is_old
        && !has_word("export ")
        && !has_word("import ")
        && !has_word("export{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_specifier_names_a_package_and_a_place_in_it() {
        for (specifier, package, subpath) in [
            ("left-pad", "left-pad", "."),
            ("a/lib/b.js", "a", "./lib/b.js"),
            ("@me/a", "@me/a", "."),
            ("@me/a/b", "@me/a", "./b"),
        ] {
            let read = PackageImport::read(specifier).unwrap();
            assert_eq!((read.package, read.subpath.as_str()), (package, subpath), "{specifier}");
        }
        for builtin in ["node:fs", "fs", "fs/promises", "crypto", "node:anything"] {
            assert!(PackageImport::read(builtin).unwrap_err().contains("is a module of Node"), "{builtin}");
        }
        for wrong in ["", "/etc/passwd", "https://x/y.js", "@me", "..", "a b"] {
            assert!(PackageImport::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn packages_are_looked_for_from_the_nearest_folder_up() {
        assert_eq!(folders("b", "index.ts"), ["node_modules/b"]);
        assert_eq!(
            folders("b", "node_modules/a/lib/x.js"),
            ["node_modules/a/lib/node_modules/b", "node_modules/a/node_modules/b", "node_modules/b"]
        );
    }

    #[test]
    fn the_entry_is_what_the_package_says() {
        let of = |manifest: Value, subpath: &str| entry(manifest.as_object().unwrap(), subpath);
        for (manifest, subpath, expected) in [
            (json!({}), ".", Some("index.js")),
            (json!({ "main": "./lib/a.js" }), ".", Some("lib/a.js")),
            (json!({ "main": "a.cjs", "module": "a.mjs" }), ".", Some("a.mjs")),
            (json!({ "exports": "./x.js" }), ".", Some("x.js")),
            (json!({ "exports": { "require": "./x.cjs", "import": "./x.mjs" } }), ".", Some("x.mjs")),
            (json!({ "exports": { ".": { "node": "./n.js", "default": { "import": "./d.js" } } } }), ".", Some("d.js")),
            (json!({ "exports": { "./sub/*": "./dist/*.js" } }), "./sub/a", Some("dist/a.js")),
            (json!({ "exports": { ".": "./x.js" } }), "./y.js", None),
            (json!({ "exports": "../x.js" }), ".", None),
            (json!({}), "./lib/y.js", Some("lib/y.js")),
            (json!({}), "./../y.js", None),
        ] {
            assert_eq!(of(manifest.clone(), subpath).ok().as_deref(), expected, "{manifest} {subpath}");
        }
    }

    #[test]
    fn what_only_require_can_load_is_told() {
        let old = "module.exports = 1;";
        assert!(is_common_js("a.cjs", &Map::new(), ""));
        assert!(is_common_js("a.js", &Map::new(), old));
        assert!(!is_common_js("a.mjs", &Map::new(), old));
        assert!(!is_common_js("a.js", &Map::from_iter([("type".to_owned(), "module".into())]), old));
        assert!(!is_common_js("a.js", &Map::new(), "// module.exports\nexport default 1;"));
    }
}
