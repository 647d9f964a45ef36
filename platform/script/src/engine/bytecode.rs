//! Compiled modules: read from the cache, kept for the next realm, or made from the text.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::module::Declared;
use rquickjs::{Ctx, Module, WriteOptions};

use crate::cache::{Cache, CacheKey};
use crate::error::{ErrorKind, ScriptError};

use super::failure;
use super::shared::Shared;

/// How the bytecode of a module is told from that of another.
pub(crate) struct ModuleIdentity<'a> {
    pub(crate) name: &'a str,
    /// Stands for the text.
    pub(crate) digest: &'a str,
}

/// Bytecode that every realm needs, by module name: two or three. It is this engine's own, or came from a cache that is
/// trusted for it.
#[derive(Default)]
pub(crate) struct KeptBytecode(RefCell<Vec<(String, Rc<Vec<u8>>)>>);

/// Declares a module of which the cache may hold the bytecode; `text` is asked for only if it does not.
pub(crate) fn declare<'js>(
    ctx: &Ctx<'js>,
    shared: &Shared,
    identity: &ModuleIdentity<'_>,
    text: impl FnOnce() -> Result<String, ScriptError>,
) -> Result<Module<'js, Declared>, ScriptError> {
    let Some((cache, key)) = place(shared, identity) else {
        return compile(ctx, shared, identity.name, text()?);
    };
    if let Some(module) = cache.bytecode(&key).and_then(|bytes| load(ctx, &bytes)) {
        return Ok(module);
    }
    let module = compile(ctx, shared, identity.name, text()?)?;
    if let Some(bytecode) = write(ctx, &module, WriteOptions::default()) {
        cache.write(&key, &bytecode);
    }
    Ok(module)
}

/// Declares a module of the host's own, of which every realm has one: compiled at most once per engine.
pub(crate) fn declare_kept<'js>(
    ctx: &Ctx<'js>,
    shared: &Shared,
    name: &str,
    digest: impl FnOnce() -> String,
    text: &str,
) -> Result<Module<'js, Declared>, ScriptError> {
    if let Some(module) = shared.kept.get(name).and_then(|bytes| load(ctx, &bytes)) {
        return Ok(module);
    }
    let place = place(shared, &ModuleIdentity { name, digest: &digest() });
    let cached = place.as_ref().and_then(|(cache, key)| cache.bytecode(key));
    if let Some(bytes) = cached
        && let Some(module) = load(ctx, &bytes)
    {
        shared.kept.put(name, bytes);
        return Ok(module);
    }
    let module = compile(ctx, shared, name, text.to_owned())?;
    // Nobody reads the text of the host's own functions, nor wants to be shown places in them.
    let options = WriteOptions { strip_source: true, strip_debug: true, ..WriteOptions::default() };
    if let Some(bytecode) = write(ctx, &module, options) {
        if let Some((cache, key)) = place {
            cache.write(&key, &bytecode);
        }
        shared.kept.put(name, bytecode);
    }
    Ok(module)
}

impl KeptBytecode {
    fn get(&self, name: &str) -> Option<Rc<Vec<u8>>> {
        self.0.borrow().iter().find(|kept| kept.0 == name).map(|kept| Rc::clone(&kept.1))
    }

    fn put(&self, name: &str, bytecode: Vec<u8>) {
        let mut kept = self.0.borrow_mut();
        kept.retain(|kept| kept.0 != name);
        kept.push((name.to_owned(), Rc::new(bytecode)));
    }
}

fn place<'s>(shared: &'s Shared, identity: &ModuleIdentity<'_>) -> Option<(&'s Cache, CacheKey)> {
    let cache = shared.cache.as_ref().filter(|cache| cache.holds_bytecode())?;
    Some((cache, CacheKey::bytecode(identity.name, identity.digest)))
}

fn write<'js>(ctx: &Ctx<'js>, module: &Module<'js, Declared>, options: WriteOptions) -> Option<Vec<u8>> {
    let written = module.write(options);
    if written.is_err() {
        ctx.catch();
    }
    written.ok()
}

#[allow(
    unsafe_code,
    reason = "bytecode is read only from a store that the caller declared trusted, under a digest of its content"
)]
fn load<'js>(ctx: &Ctx<'js>, bytecode: &[u8]) -> Option<Module<'js, Declared>> {
    // SAFETY: the bytes are what `Module::write` of this engine version wrote for this name and text.
    let module = unsafe { Module::load(ctx.clone(), bytecode) };
    module
        .inspect_err(|_| {
            ctx.catch();
        })
        .ok()
}

/// Compiles, and tells a text that does not parse from an import of it that failed.
fn compile<'js>(
    ctx: &Ctx<'js>,
    shared: &Shared,
    name: &str,
    text: String,
) -> Result<Module<'js, Declared>, ScriptError> {
    Module::declare(ctx.clone(), name, text).map_err(|error| {
        let mut error = failure::describe(ctx, shared, error);
        if error.kind == ErrorKind::Thrown && error.message.starts_with("SyntaxError: ") {
            error.kind = ErrorKind::Syntax;
            error.message = error.message.split_off("SyntaxError: ".len());
        }
        error
    })
}
