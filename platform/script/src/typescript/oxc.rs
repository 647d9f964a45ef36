//! The calls into oxc, kept apart because its API changes with most releases.

use std::path::Path;

use dispatch_os::threads;
use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use crate::error::{ErrorKind, ScriptError};
use crate::source::position;

/// Stack of the thread that compiles: the parser recurses, and the caller's stack may be small.
const COMPILER_STACK_BYTES: usize = 64 * 1024 * 1024;

/// Whether positions are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceMapping {
    Skip,
    Keep,
}

pub(super) struct Output {
    pub(super) code: String,
    /// Generated line and column, original line and column, all from zero and in generated order.
    pub(super) tokens: Vec<[u32; 4]>,
}

/// The first error among diagnostics whose type has no name here.
macro_rules! refuse {
    ($name:expr, $text:expr, $diagnostics:expr) => {
        if let Some(first) = $diagnostics.errors().next() {
            let mut error = ScriptError::new(ErrorKind::TypeScript, first.message.as_ref());
            if let Some(label) = first.labels.first() {
                let offset = usize::try_from(label.offset()).unwrap_or(usize::MAX);
                let (line, column) = position($text, offset);
                error = error.at($name, line, column);
            }
            error.hint = first.help.as_ref().map(|help| help.to_string());
            return Err(error);
        }
    };
}

/// The code must not depend on `map`: positions are looked up in a second run.
pub(super) fn transform(name: &str, text: &str, map: SourceMapping) -> Result<Output, ScriptError> {
    let allocator = Allocator::default();
    let path = Path::new(name);
    let parsed = Parser::new(&allocator, text, SourceType::ts()).parse();
    refuse!(name, text, parsed.diagnostics);
    let mut program = parsed.program;
    let semantic = SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    refuse!(name, text, semantic.diagnostics);
    let transformed = Transformer::new(&allocator, path, &TransformOptions::default())
        .build_with_scoping(semantic.semantic.into_scoping(), &mut program);
    refuse!(name, text, transformed.diagnostics);
    let printed = Codegen::new()
        .with_options(CodegenOptions {
            source_map_path: (map == SourceMapping::Keep).then(|| path.to_owned()),
            ..CodegenOptions::default()
        })
        .build(&program);
    let tokens = printed.map.iter().flat_map(|map| map.get_tokens());
    Ok(Output {
        tokens: tokens
            .map(|token| [token.get_dst_line(), token.get_dst_col(), token.get_src_line(), token.get_src_col()])
            .collect(),
        code: printed.code,
    })
}

/// Runs `work` where a deeply nested source cannot exhaust the stack.
pub(super) fn on_deep_stack<T: Send>(work: impl FnOnce() -> Result<T, ScriptError> + Send) -> Result<T, ScriptError> {
    threads::scope(|scope| {
        let thread =
            threads::builder("typescript").stack_size(COMPILER_STACK_BYTES).spawn_scoped(scope, work).map_err(
                |error| ScriptError::new(ErrorKind::Engine, format!("cannot start the TypeScript compiler: {error}")),
            )?;
        thread.join().unwrap_or_else(|_| {
            Err(ScriptError::new(ErrorKind::Engine, "the TypeScript compiler failed on this source"))
        })
    })
}
