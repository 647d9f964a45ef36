//! Sources of every shape: empty, huge, marked, foreign.

use dispatch_script::{Callee, Engine, ErrorKind, Grants, Limits, Source};
use serde_json::json;

use crate::support::{load, patient};

#[test]
fn empty_sources_are_modules_without_exports() {
    for name in ["a.js", "a.mjs", "a.ts", "a.mts"] {
        for text in ["", "\n", "// nothing", "\u{feff}"] {
            assert_eq!(load(name, text).unwrap().exports().unwrap(), json!({}), "{name} {text:?}");
        }
    }
}

#[test]
fn unknown_languages_are_refused() {
    for name in ["a.cjs", "a.tsx", "a.json", "a", "a.wasm", "js"] {
        let error = load(name, "export default 1;").err().unwrap();
        assert_eq!(error.kind, ErrorKind::Import, "{name}");
        assert!(error.hint.unwrap().contains(".mts"), "{name}");
    }
    for name in ["", "a\0.js"] {
        assert_eq!(load(name, "").err().unwrap().kind, ErrorKind::Import, "{name:?}");
    }
}

#[test]
fn text_of_any_script_survives() {
    let text = "export default '日本語 😀 \u{2028} ñ' + `\u{200d}`; export const 変数 = 1; // ☃";
    for name in ["a.js", "ü.ts"] {
        let exports = load(name, text).unwrap().exports().unwrap();
        assert_eq!(exports, json!({ "default": "日本語 😀 \u{2028} ñ\u{200d}", "変数": 1 }), "{name}");
    }
}

#[test]
fn a_byte_order_mark_is_ignored_and_nul_is_refused() {
    for name in ["a.js", "a.ts"] {
        assert_eq!(load(name, "\u{feff}export default 1;").unwrap().exports().unwrap()["default"], json!(1));
        let error = load(name, "let a;\n  \0").err().unwrap();
        let at = error.location().unwrap();
        assert_eq!((error.kind, at.line, at.column), (ErrorKind::Syntax, 2, 3), "{name}");
    }
}

#[test]
fn a_large_source_is_refused_or_runs() {
    let line = "{ text: 'some text that fills the line', list: [1, 2, 3], call: (n) => n + 1 },\n";
    let lines = line.repeat(5 * 1024 * 1024 / line.len() + 1);
    let text = format!("const data = [{lines}]; export default () => data[7].list;");
    for name in ["big.js", "big.ts"] {
        let error = load(name, &text).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Limit, "{name}");
        let limits = Limits { source_bytes: 8 << 20, memory_bytes: 512 << 20, ..patient() };
        let engine = Engine::new(limits, Grants::default()).unwrap();
        let script = engine.load(&Source::new(name, text.clone())).unwrap();
        assert_eq!(script.call(&Callee::export("default"), &[]).unwrap(), json!([1, 2, 3]), "{name}");
    }
}

#[test]
fn a_comment_of_five_megabytes_needs_no_memory_to_speak_of() {
    let limits = Limits { source_bytes: 8 << 20, ..patient() };
    let engine = Engine::new(limits, Grants::default()).unwrap();
    let text = format!("/*{}*/ export default 1;", "x".repeat(5 << 20));
    for name in ["a.js", "a.ts"] {
        let script = engine.load(&Source::new(name, text.clone())).unwrap();
        assert_eq!(script.exports().unwrap(), json!({ "default": 1 }));
    }
}

#[test]
fn all_of_typescript_is_compiled_away() {
    let text = r#"
        export enum Level { Low = 1, High = Low << 2, Text = "t" }
        const enum Inline { One = 1 }
        namespace Space { export const inside = 7; }
        abstract class Base<T> { constructor(protected value: T, readonly note?: string) {} abstract show(): string; }
        class Real extends Base<number> { declare extra: string; #own = 1; override show(): string { return `${this.value}${this.#own}`; } }
        function over(a: string): string; function over(a: number): number; function over(a: any) { return a; }
        const typed = <const T,>(x: T) => x as unknown as T;
        let sure: string | undefined = "s";
        export type { Level as Alias };
        export default () => [Level.High, Level[1], Level.Text, Inline.One, Space.inside, new Real(5).show(), over(1), typed(2), sure!.length, ({ a: 1 } satisfies object).a];
    "#;
    let script = load("all.ts", text).unwrap();
    assert_eq!(script.call(&Callee::export("default"), &[]).unwrap(), json!([4, "Low", "t", 1, 7, "51", 1, 2, 1, 1]));
}

#[test]
fn nested_typescript_does_not_exhaust_the_stack() {
    for depth in [900, 1_001, 200_000] {
        let text = format!("export default {}1{};", "(".repeat(depth), ")".repeat(depth));
        let loaded = load("deep.ts", &text);
        if depth <= 1_000 {
            assert!(loaded.is_ok() || loaded.is_err_and(|error| error.kind == ErrorKind::Stack));
        } else {
            assert_eq!(loaded.err().unwrap().kind, ErrorKind::Limit);
        }
    }
}
