//! A fresh set of globals: what the language offers, minus what is ambient, plus what was granted.

use std::cell::Cell;
use std::rc::Rc;

use rquickjs::module::Declared;
use rquickjs::{Context, Ctx, Exception, Function, Module, Persistent, Runtime};

use crate::error::ScriptError;
use crate::log::LogLevel;

use super::shared::Shared;
use super::surface::Surface;
use super::{bytecode, failure, json};

const GLOBALS: &str = include_str!("globals.js");
/// What stands for the text of [`GLOBALS`] in the key of its bytecode; computed while compiling, for free.
const GLOBALS_DIGEST: u128 = fnv1a(GLOBALS.as_bytes());
/// The name of the module that sets the globals up; no file is called so.
pub(crate) const GLOBALS_NAME: &str = "<globals>";

/// A context, and its function that writes a value as JSON (a `Set` as an array, a `Map` as an object).
///
/// The function is held outside JavaScript only: a native closure that held it would be a cycle no collector sees.
pub(crate) struct Realm {
    pub(crate) encode: Persistent<Function<'static>>,
    /// Functions with memory of ours behind them. A script can let go of them; they stay all the same.
    _native: [Persistent<Function<'static>>; NATIVE],
    pub(crate) start: Rc<RealmStart>,
    pub(crate) context: Context,
}

/// How many functions the globals are made of.
const NATIVE: usize = 5;

/// What a script of a realm begins with.
pub(crate) struct RealmStart {
    /// Where the random numbers are.
    random: Cell<u64>,
    /// When the script began, by its own clock.
    origin_ms: Cell<f64>,
}

impl RealmStart {
    /// Begins anew, for the next script of a realm that is used again.
    pub(crate) fn again(&self, shared: &Shared) {
        self.random.set(shared.random_seed);
        self.origin_ms.set(shared.now_ms());
    }
}

impl Realm {
    pub(crate) fn new(runtime: &Runtime, shared: &Rc<Shared>, surface: Surface) -> Result<Self, ScriptError> {
        let context = surface.context(runtime).map_err(|error| failure::at_start(&error))?;
        let start = RealmStart { random: Cell::new(shared.random_seed), origin_ms: Cell::new(shared.now_ms()) };
        let start = Rc::new(start);
        let (encode, native) = context.with(|ctx| {
            let module =
                bytecode::declare_kept(&ctx, shared, GLOBALS_NAME, || format!("{GLOBALS_DIGEST:032x}"), GLOBALS)?;
            let installed = native_functions(&ctx, shared, &start).and_then(|native| {
                let encode = install_globals(shared, module, &native)?;
                Ok((Persistent::save(&ctx, encode), native.map(|function| Persistent::save(&ctx, function))))
            });
            installed.map_err(|error| failure::describe(&ctx, shared, error))
        })?;
        Ok(Self { encode, _native: native, start, context })
    }
}

/// What the globals are made of: the clock, random numbers, the log, the functions of the host.
fn native_functions<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Shared>,
    start: &Rc<RealmStart>,
) -> rquickjs::Result<[Function<'js>; NATIVE]> {
    let clock = Rc::clone(shared);
    let now = Function::new(ctx.clone(), move || clock.now_ms())?.with_name("now")?;
    let state = Rc::clone(start);
    let random = Function::new(ctx.clone(), move || next_random(&state.random))?.with_name("random")?;
    let state = Rc::clone(start);
    let origin = Function::new(ctx.clone(), move || state.origin_ms.get())?;
    Ok([now, random, origin, log_function(ctx, shared)?, host_function(ctx, shared)?])
}

fn install_globals<'js>(
    shared: &Shared,
    module: Module<'js, Declared>,
    native: &[Function<'js>; NATIVE],
) -> rquickjs::Result<Function<'js>> {
    let names: Vec<String> = shared.host.names().map(str::to_owned).collect();
    let (module, _) = module.eval()?;
    let install: Function<'js> = module.get("default")?;
    let [now, random, origin, log, host] = native.clone();
    install.call((now, random, origin, log, names, host))
}

fn log_function<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>) -> rquickjs::Result<Function<'js>> {
    let shared = Rc::clone(shared);
    Function::new(ctx.clone(), move |level: usize, text: String| {
        if let Some((level, _)) = LogLevel::ALL.get(level) {
            shared.log.write(*level, text);
        }
    })
}

/// Calls the host function at an index of the sorted names: JSON text of all arguments in, JSON text out.
fn host_function<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>) -> rquickjs::Result<Function<'js>> {
    let shared = Rc::clone(shared);
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, index: usize, arguments: String| {
        call_host(&shared, index, arguments).map_err(|message| Exception::throw_message(&ctx, &message))
    })
}

fn call_host(shared: &Shared, index: usize, arguments: String) -> Result<String, String> {
    let max_bytes = shared.limits.value_bytes;
    let function = shared.host.at(index).ok_or("no such host function")?;
    let arguments = json::parse(Some(arguments), max_bytes).map_err(|error| error.message)?;
    let arguments = arguments.as_array().map_or(&[][..], Vec::as_slice);
    let result = function(arguments)?.to_string();
    json::check_size(result.len(), max_bytes).map_err(|error| error.message)?;
    Ok(result)
}

/// FNV-1a of 128 bits.
const fn fnv1a(bytes: &[u8]) -> u128 {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        hash = (hash ^ *first as u128).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        rest = tail;
    }
    hash
}

/// SplitMix64, the 53 upper bits as a number in `[0, 1)`.
fn next_random(state: &Cell<u64>) -> f64 {
    let seed = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    state.set(seed);
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_is_uniform_enough_and_repeats_by_seed() {
        let (one, two) = (Cell::new(7), Cell::new(7));
        let numbers: Vec<f64> = (0..10_000).map(|_| next_random(&one)).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = numbers.iter().sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean), "{mean}");
        assert!(numbers.iter().all(|number| *number == next_random(&two)));
    }
}
