//! How imports are found and compiled: virtual modules, relative sources of the caller's, and nothing else.

use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Module};

use crate::cache::{Cache, CacheKey};
use crate::error::{ErrorKind, ScriptError};
use crate::limits::MAX_IMPORTS;
use crate::source::{Language, Source};
use crate::typescript;

use super::bytecode::{self, ModuleIdentity};
use super::shared::Shared;

pub(crate) struct Imports(pub(crate) Rc<Shared>);

impl Resolver for Imports {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        referrer: &str,
        specifier: &str,
        attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        // The engine asks for a script it is about to load itself with no referrer.
        if referrer.is_empty() {
            return Ok(specifier.to_owned());
        }
        let resolved = if attributes.is_some() {
            Err(refusal(specifier, referrer, "import attributes are not supported"))
        } else {
            resolve(&self.0, specifier, referrer)
        };
        resolved.map_err(|error| throw(ctx, &self.0, error))
    }
}

impl Loader for Imports {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let pending = self.0.take_pending(name);
        let declared = match (pending, self.0.virtual_modules.get(name)) {
            (Some(source), _) => declare(ctx, &self.0, &source),
            (None, Some(text)) => {
                let digest = Source::new(name, text.as_str()).digest();
                bytecode::declare(ctx, &self.0, &ModuleIdentity { name, digest: &digest }, || Ok(text.clone()))
            }
            (None, None) => Err(refusal(name, "", "it was not resolved")),
        };
        declared.map_err(|error| throw(ctx, &self.0, error))
    }
}

/// Records the whole error and throws its message; the two meet again where the exception comes out.
fn throw(ctx: &Ctx<'_>, shared: &Shared, error: ScriptError) -> rquickjs::Error {
    let thrown = Exception::throw_message(ctx, &error.message);
    shared.load_failures.borrow_mut().push(error);
    thrown
}

fn resolve(shared: &Shared, specifier: &str, referrer: &str) -> Result<String, ScriptError> {
    if shared.virtual_modules.contains_key(specifier) {
        return Ok(specifier.to_owned());
    }
    let is_relative = specifier.starts_with("./") || specifier.starts_with("../");
    if !is_relative && !shared.sources.as_ref().is_some_and(|sources| sources.finds_packages()) {
        return Err(refused_specifier(shared, specifier, referrer));
    }
    let imports = shared.imports.get() + 1;
    if imports > MAX_IMPORTS {
        return Err(ScriptError::new(ErrorKind::Limit, format!("more than {MAX_IMPORTS} imports")));
    }
    shared.imports.set(imports);
    let Some(sources) = &shared.sources else {
        return Err(refusal(specifier, referrer, "this script may not import other files"));
    };
    let source = sources.load(specifier, referrer).map_err(|reason| refusal(specifier, referrer, &reason))?;
    let name = source.name.clone();
    if name.is_empty() || shared.virtual_modules.contains_key(&name) {
        return Err(refusal(specifier, referrer, "its name is reserved"));
    }
    shared.expect(source);
    Ok(name)
}

fn refused_specifier(shared: &Shared, specifier: &str, referrer: &str) -> ScriptError {
    let known: Vec<&str> = shared.virtual_modules.keys().map(String::as_str).collect();
    let hint = if specifier.starts_with("node:") {
        "node's modules do not exist here; run the script as an external command if it needs them".to_owned()
    } else if known.is_empty() {
        "packages cannot be imported; copy the code beside the script and import it by a relative path".to_owned()
    } else {
        format!("import a file by a relative path (\"./name.ts\"), or one of: {}", known.join(", "))
    };
    refusal(specifier, referrer, "only relative paths and built-in modules can be imported").with_hint(hint)
}

fn refusal(specifier: &str, referrer: &str, reason: &str) -> ScriptError {
    ScriptError::new(ErrorKind::Import, format!("cannot import \"{specifier}\" from \"{referrer}\": {reason}"))
}

/// Compiles a source, or finds it compiled.
pub(crate) fn declare<'js>(
    ctx: &Ctx<'js>,
    shared: &Shared,
    source: &Source,
) -> Result<Module<'js, Declared>, ScriptError> {
    let text = source.checked_text(&shared.limits)?;
    let Some(language) = Language::of(&source.name) else {
        return Err(ScriptError::new(
            ErrorKind::Import,
            format!("{} is neither JavaScript nor TypeScript", source.name),
        )
        .with_hint("name it .js, .mjs, .ts or .mts"));
    };
    let digest = source.digest();
    let declared =
        bytecode::declare(ctx, shared, &ModuleIdentity { name: &source.name, digest: &digest }, || match language {
            Language::JavaScript => Ok(text.to_owned()),
            Language::TypeScript => stripped(shared.cache.as_ref(), &source.name, &digest, text),
        })?;
    shared.originals.borrow_mut().insert(source.name.clone(), text.to_owned());
    Ok(declared)
}

fn stripped(cache: Option<&Cache>, name: &str, digest: &str, text: &str) -> Result<String, ScriptError> {
    let Some(cache) = cache else {
        return typescript::strip(name, text);
    };
    let key = CacheKey::stripped(digest);
    if let Some(stripped) = cache.stripped(&key) {
        return Ok(stripped);
    }
    let stripped = typescript::strip(name, text)?;
    cache.write(&key, stripped.as_bytes());
    Ok(stripped)
}
