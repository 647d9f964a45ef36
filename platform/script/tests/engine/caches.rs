//! Compiled forms are found again, and a bad entry is as good as none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dispatch_script::{Cache, CacheTrust, Callee, Engine, ErrorKind, Grants, ScriptError, Source, SourceCache};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::patient;

#[derive(Default)]
struct Counting {
    entries: RefCell<BTreeMap<String, Vec<u8>>>,
    hits: RefCell<usize>,
    puts: RefCell<usize>,
}

impl SourceCache for Counting {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        let found = self.entries.borrow().get(key).cloned();
        *self.hits.borrow_mut() += usize::from(found.is_some());
        found
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        *self.puts.borrow_mut() += 1;
        self.entries.borrow_mut().insert(key.to_owned(), bytes.to_vec());
    }
}

impl Counting {
    fn counts(&self) -> (usize, usize) {
        (self.hits.take(), self.puts.take())
    }
}

const TYPED: &str = "enum E { A = 4 }\nexport default (n: number): number => {\n    if (n < 0) throw new Error('negative');\n    return n + E.A;\n};\n";

fn run(store: &Rc<Counting>, trust: CacheTrust, source: (&str, &str), n: i64) -> Result<Value, ScriptError> {
    let cache = Some(Cache::new(Rc::clone(store), trust));
    let engine = Engine::new(patient(), Grants { cache, ..Grants::default() })?;
    let script = engine.load(&Source::new(source.0, source.1))?;
    script.call(&Callee::export("default"), &[json!(n)])
}

#[test]
fn stripped_text_is_found_again() {
    let store = Rc::new(Counting::default());
    assert_eq!(run(&store, CacheTrust::Text, ("a.ts", TYPED), 1).unwrap(), json!(5));
    assert_eq!(store.counts(), (0, 1));
    assert_eq!(run(&store, CacheTrust::Text, ("a.ts", TYPED), 2).unwrap(), json!(6));
    assert_eq!(store.counts(), (1, 0), "a hit is not stripped again");
    assert_eq!(run(&store, CacheTrust::Text, ("other.ts", TYPED), 2).unwrap(), json!(6));
    assert_eq!(store.counts(), (1, 0), "the name does not matter to the text");
    let changed = TYPED.replace('4', "5");
    assert_eq!(run(&store, CacheTrust::Text, ("a.ts", &changed), 1).unwrap(), json!(6));
    assert_eq!(store.counts(), (0, 1));
    assert_eq!(run(&store, CacheTrust::Text, ("a.js", "export default (n) => n;"), 1).unwrap(), json!(1));
    assert_eq!(store.counts(), (0, 0), "JavaScript needs no stripping");
}

/// Answers every question with one text, sealed as the engine seals its own entries.
struct Forged;

impl SourceCache for Forged {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        let payload = b"export default (n) => n + 100;";
        let seal = Sha256::new().chain_update(key).chain_update(payload).finalize();
        Some([seal.as_slice(), payload].concat())
    }

    fn put(&self, key: &str, _bytes: &[u8]) {
        panic!("{key} was compiled in spite of a hit");
    }
}

#[test]
fn a_hit_runs_without_the_compiler() {
    let cache = Some(Cache::new(Forged, CacheTrust::Text));
    let engine = Engine::new(patient(), Grants { cache, ..Grants::default() }).unwrap();
    let does_not_parse = "export default (n: = 1;";
    let script = engine.load(&Source::new("a.ts", does_not_parse)).unwrap();
    assert_eq!(script.call(&Callee::export("default"), &[json!(1)]).unwrap(), json!(101));
}

#[test]
fn errors_are_not_cached() {
    let store = Rc::new(Counting::default());
    let error = run(&store, CacheTrust::Text, ("b.ts", "export default (n: = 1;"), 1).unwrap_err();
    assert_eq!((error.kind, store.counts()), (ErrorKind::TypeScript, (0, 0)));
}

#[test]
fn bytecode_is_found_again_and_keeps_positions() {
    let store = Rc::new(Counting::default());
    let trust = CacheTrust::TextAndBytecode;
    assert_eq!(run(&store, trust, ("a.ts", TYPED), 1).unwrap(), json!(5));
    assert_eq!(store.counts(), (0, 3), "stripped text, its bytecode and that of the globals");
    assert_eq!(run(&store, trust, ("a.ts", TYPED), 1).unwrap(), json!(5));
    assert_eq!(store.counts(), (2, 0), "what has bytecode needs no stripped text");
    let error = run(&store, trust, ("a.ts", TYPED), -1).unwrap_err();
    let at = error.location().unwrap();
    assert_eq!((at.file.as_str(), at.line), ("a.ts", 3));
    assert_eq!(store.counts(), (2, 0));
    run(&store, trust, ("b.ts", TYPED), 1).unwrap();
    assert_eq!(store.counts(), (2, 1), "bytecode belongs to one name");
}

#[test]
fn bytecode_with_imports_resolves_them() {
    let store = Rc::new(Counting::default());
    let text = "import { two } from 'numbers'; export default (n) => n + two;";
    for round in 0..2 {
        let engine = Engine::new(
            patient(),
            Grants {
                cache: Some(Cache::new(Rc::clone(&store), CacheTrust::TextAndBytecode)),
                virtual_modules: BTreeMap::from([("numbers".to_owned(), "export const two = 2;".to_owned())]),
                ..Grants::default()
            },
        )
        .unwrap();
        let script = engine.load(&Source::new("main.js", text)).unwrap();
        assert_eq!(script.call(&Callee::export("default"), &[json!(1)]).unwrap(), json!(3));
        assert_eq!(store.counts(), if round == 0 { (0, 3) } else { (3, 0) });
    }
}

#[test]
fn damaged_entries_are_made_again() {
    let store = Rc::new(Counting::default());
    let trust = CacheTrust::TextAndBytecode;
    run(&store, trust, ("a.ts", TYPED), 1).unwrap();
    for damage in [0, 1, 40, 1_000] {
        for bytes in store.entries.borrow_mut().values_mut() {
            match damage {
                0 => bytes.clear(),
                1_000 => bytes.push(0),
                index => {
                    let index = index.min(bytes.len() - 1);
                    bytes[index] ^= 1;
                }
            }
        }
        store.counts();
        assert_eq!(run(&store, trust, ("a.ts", TYPED), 1).unwrap(), json!(5), "{damage}");
        assert_eq!(*store.puts.borrow(), 3, "{damage}");
    }
}

#[test]
fn an_adapter_is_compiled_once_for_all_modules() {
    let store = Rc::new(Counting::default());
    let adapter = Source::new("adapter.js", "export default ({ default: number }) => ({ twice: () => number * 2 });");
    for round in 0..2 {
        let cache = Some(Cache::new(Rc::clone(&store), CacheTrust::TextAndBytecode));
        let engine = Engine::new(patient(), Grants { cache, ..Grants::default() }).unwrap();
        for (name, number) in [("a.js", 2), ("b.js", 3)] {
            let source = Source::new(name, format!("export default {number};"));
            let script = engine.load_through(&adapter, &source).unwrap();
            assert_eq!(script.call(&Callee::export("twice"), &[]).unwrap(), json!(number * 2));
        }
        assert_eq!(store.counts(), if round == 0 { (0, 4) } else { (4, 0) }, "globals, adapter and two modules");
    }
    let engine = Engine::new(patient(), Grants::default()).unwrap();
    let failed = engine.load_through(&Source::new("adapter.js", "export default () => 1;"), &Source::new("a.js", ""));
    assert_eq!(failed.err().map(|error| error.kind), Some(ErrorKind::Engine));
}

#[test]
fn a_known_digest_stands_for_the_text() {
    let store = Rc::new(Counting::default());
    let digest = "a".repeat(64);
    for text in ["export default 1;", "export default 2;"] {
        let cache = Some(Cache::new(Rc::clone(&store), CacheTrust::TextAndBytecode));
        let engine = Engine::new(patient(), Grants { cache, ..Grants::default() }).unwrap();
        let script = engine.load(&Source::new("a.js", text).with_digest(&digest)).unwrap();
        assert_eq!(script.export("default").unwrap(), Some(json!(1)), "what was compiled under it first");
    }
}
