//! Which globals a module can reach, told from its text before its realm is made.
//!
//! Typed arrays and a few others take a quarter of the time that a realm takes, and hardly any module names them; dates
//! take a tenth. Code in a module is strict and cannot be made from strings, so a global is reached by its name or
//! through `globalThis`.

use rquickjs::context::intrinsic::{Date, Eval, Json, MapSet, Promise, RegExp, RegExpCompiler};
use rquickjs::{Context, Runtime};

/// The part of the globals that a realm gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Surface {
    /// Without those in [`RARE`], the typed arrays and `Date`.
    Dateless,
    /// With `Date`.
    Common,
    /// Everything.
    Whole,
}

const RARE: [&str; 12] = [
    "ArrayBuffer",
    "Atomics",
    "DOMException",
    "DataView",
    "FinalizationRegistry",
    "Proxy",
    "SharedArrayBuffer",
    "WeakRef",
    "atob",
    "btoa",
    // All of them, and code that is not looked at here.
    "globalThis",
    "import",
];

impl Surface {
    /// What the module needs at most. Names in comments and strings count as well, and what is unclear is the whole.
    pub(crate) fn of(text: &str) -> Self {
        let mut surface = Self::Dateless;
        let mut rest = text.as_bytes();
        while let Some(start) = rest.iter().position(|byte| is_word(*byte) || *byte == b'\\') {
            rest = rest.get(start..).unwrap_or_default();
            if let [b'\\', next, ..] = rest {
                // Names can be spelled with escapes.
                if *next == b'u' {
                    return Self::Whole;
                }
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len()).max(1);
            let (word, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            if needs_whole(word, after) {
                return Self::Whole;
            }
            if word == b"Date" {
                surface = Self::Common;
            }
            rest = after;
        }
        surface
    }

    /// A context with these globals.
    pub(crate) fn context(self, runtime: &Runtime) -> rquickjs::Result<Context> {
        match self {
            Self::Whole => Context::full(runtime),
            Self::Common => Context::custom::<(Date, Eval, RegExpCompiler, RegExp, Json, MapSet, Promise)>(runtime),
            Self::Dateless => Context::custom::<(Eval, RegExpCompiler, RegExp, Json, MapSet, Promise)>(runtime),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn needs_whole(word: &[u8], after: &[u8]) -> bool {
    match word {
        b"from" => is_re_export(after),
        [b'I' | b'U' | b'F' | b'B', .., b'A', b'r', b'r', b'a', b'y'] => true,
        _ => RARE.iter().any(|name| name.as_bytes() == word),
    }
}

/// Whether `from` is followed by the name of a module.
fn is_re_export(after: &[u8]) -> bool {
    let next = after.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != 0x0b);
    next.is_none_or(|byte| matches!(byte, b'"' | b'\'' | b'/') || !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_reach_a_rare_global_gets_all_of_them() {
        let whole = [
            "new Uint8Array(4)",
            "x instanceof ArrayBuffer",
            "globalThis[name]",
            "const \\u0067lobalThis = 1",
            "export * from './x.js'",
            "export { a } from\n\t\"./x.js\"",
            "export { a } from/**/'./x.js'",
            "export { a } from\u{a0}'./x.js'",
            "await import(name)",
            "import.meta.url",
            "x\u{a0}Proxy",
            "new Proxy({}, {})",
            "Float16Array",
            "BigInt64Array",
            "Uint8ClampedArray",
            "atob('')",
            "'\\\\u'",
            "DataView",
            "from",
        ];
        for text in whole {
            assert_eq!(Surface::of(text), Surface::Whole, "{text}");
        }
    }

    #[test]
    fn ordinary_code_gets_by_with_few() {
        let common = [
            "",
            "10n + 0xffn",
            "export default 1",
            "Array.isArray([1, 2.5])",
            "'deletes from the root'",
            "Array.from(x)",
            "a\\b\\",
            "/\\bgit\\s+push\\b/.test(x)",
            "importer.data",
            "größer",
            "x10n",
            "new Map(), new Set(), Promise.all([])",
        ];
        for text in common {
            assert_eq!(Surface::of(text), Surface::Dateless, "{text}");
        }
        for text in ["new Date()", "const { now } = Date;", "// Date", "x\u{a0}Date"] {
            assert_eq!(Surface::of(text), Surface::Common, "{text}");
        }
    }
}
