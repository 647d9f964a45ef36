//! What can be imported, and what a refused import says.

use std::collections::BTreeMap;

use dispatch_script::{Callee, ErrorKind, Grants, ModuleSource, ScriptError, Source};
use serde_json::{Value, json};

use crate::support::load_with;

struct Files(BTreeMap<&'static str, &'static str>);

impl ModuleSource for Files {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let folder = referrer.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = match specifier.strip_prefix("./") {
            Some(rest) if folder.is_empty() => rest.to_owned(),
            Some(rest) => format!("{folder}/{rest}"),
            None => return Err("it is outside the script's folder".to_owned()),
        };
        match self.0.get(path.as_str()) {
            Some(text) => Ok(Source::new(path, *text)),
            None => Err("no such file".to_owned()),
        }
    }
}

fn grants(files: &[(&'static str, &'static str)]) -> Grants {
    Grants {
        sources: Some(Box::new(Files(files.iter().copied().collect()))),
        virtual_modules: BTreeMap::from([(
            "dispatch".to_owned(),
            "export const version = 3; export const allow = () => ({ decision: 'allow' });".to_owned(),
        )]),
        ..Grants::default()
    }
}

fn run(files: &[(&'static str, &'static str)], text: &str) -> Result<Value, ScriptError> {
    load_with(grants(files), "main.ts", text)?.call(&Callee::export("default"), &[])
}

#[test]
fn relative_and_virtual_imports_work() {
    let files = [
        ("lib/a.ts", "import { b } from './b.js'; export const a: number = b + 1;"),
        (
            "lib/b.js",
            "import { version } from 'dispatch'; export const b = version; globalThis.loads = (globalThis.loads ?? 0) + 1;",
        ),
        ("lib/types.ts", "export interface T { x: 1 }"),
    ];
    let text = r#"
        import { a } from "./lib/a.ts";
        import type { T } from "./lib/missing-types-are-erased.ts";
        import { type T as U } from "./lib/types.ts";
        import { allow } from "dispatch";
        export default async () => {
            const { b } = await import("./lib/b.js");
            return [a, b, globalThis.loads, allow().decision] satisfies unknown[];
        };
    "#;
    assert_eq!(run(&files, text).unwrap(), json!([4, 3, 1, "allow"]));
}

#[test]
fn other_imports_fail_with_a_hint() {
    let table = [
        ("import 'node:fs';", "node:fs", "external command"),
        ("import 'fs';", "fs", "dispatch"),
        ("import 'lodash';", "lodash", "relative path"),
        ("import '/etc/passwd';", "/etc/passwd", "relative path"),
        ("import 'https://example.com/x.js';", "https://example.com/x.js", "relative path"),
        ("import 'file:///etc/passwd';", "file:///etc/passwd", "relative path"),
        ("export default () => import('node:os');", "node:os", "external command"),
    ];
    for (text, specifier, hint) in table {
        let error = run(&[], text).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Import, "{text}: {error}");
        assert!(error.message.contains(specifier), "{error}");
        assert!(error.message.contains("main.ts"), "{error}");
        assert!(error.hint.as_deref().unwrap().contains(hint), "{error:?}");
    }
}

#[test]
fn the_callers_reasons_are_shown() {
    let table = [
        ("import './none.ts';", "no such file"),
        ("import '../up.ts';", "outside the script's folder"),
        ("import './data.json' with { type: 'json' };", "import attributes"),
    ];
    for (text, reason) in table {
        let error = run(&[], text).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Import, "{text}: {error}");
        assert!(error.message.contains(reason), "{error}");
    }
    let error = load_with(Grants::default(), "main.js", "import './a.js';").err().unwrap();
    assert!(error.message.contains("may not import"), "{error}");
}

#[test]
fn an_error_in_an_imported_file_names_that_file() {
    let files = [
        ("bad.ts", "const a: number = 1;\nlet b: = 2;"),
        ("bad.js", "\nlet b = ;"),
        ("throws.ts", "interface A { a: 1 }\n\nthrow new Error('at load');"),
        ("data.json", "{}"),
    ];
    let table = [
        ("./bad.ts", ErrorKind::TypeScript, Some(("bad.ts", 2))),
        ("./bad.js", ErrorKind::Syntax, Some(("bad.js", 2))),
        ("./throws.ts", ErrorKind::Thrown, Some(("throws.ts", 3))),
        ("./data.json", ErrorKind::Import, None),
    ];
    for (specifier, kind, place) in table {
        for text in [format!("import '{specifier}';"), format!("await import('{specifier}');")] {
            let error = run(&files, &text).unwrap_err();
            assert_eq!(error.kind, kind, "{text}: {error}");
            let got = error.location().map(|frame| (frame.file.as_str(), frame.line));
            assert_eq!(got, place, "{text}: {error:?}");
        }
    }
}

#[test]
fn a_failed_import_can_be_caught_and_tried_again() {
    let files = [("half.js", "import './missing.js'; export const x = 1;")];
    let text = r#"
        export default async () => {
            const messages = [];
            for (let i = 0; i < 3; i++) {
                try { await import("./half.js"); messages.push("loaded"); } catch (error) { messages.push(error.message); }
            }
            return messages;
        };
    "#;
    let messages = run(&files, text).unwrap();
    for message in messages.as_array().unwrap() {
        assert!(message.as_str().unwrap().contains("missing.js"), "{message}");
    }
}

#[test]
fn cycles_work_and_endless_imports_end() {
    let files = [
        ("a.js", "import { b } from './b.js'; export const a = () => b();"),
        ("b.js", "import { a } from './a.js'; export const b = () => typeof a;"),
    ];
    let text = "import { a } from './a.js'; export default () => a();";
    assert_eq!(run(&files, text).unwrap(), json!("function"));

    struct Endless;
    impl ModuleSource for Endless {
        fn load(&self, specifier: &str, _referrer: &str) -> Result<Source, String> {
            let number: u32 = specifier.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
            Ok(Source::new(format!("{number}.js"), format!("import './{}.js';", number + 1)))
        }
    }
    let grants = Grants { sources: Some(Box::new(Endless)), ..Grants::default() };
    let error = load_with(grants, "main.js", "import './1.js';").err().unwrap();
    assert!(matches!(error.kind, ErrorKind::Limit | ErrorKind::Stack), "{error}");
}
