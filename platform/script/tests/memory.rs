//! Many engines leave nothing behind.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]
#![cfg(target_os = "linux")]

use dispatch_script::{Cache, CacheTrust, Callee, Engine, Grants, HostFunctions, Limits, MemoryCache, Source};
use serde_json::json;

const WARM_UP: usize = 100;
const RUNS: usize = 1_000;
/// A leak of one context (about 60 KiB) per run would be 60 MiB.
const ALLOWED_GROWTH_BYTES: usize = 4 << 20;
const PAGE_BYTES: usize = 4_096;

const TEXT: &str = r#"
    enum Kind { A, B }
    interface Event { n: number; fail?: boolean }
    class Node { #self: Node = this; constructor(public n: number) {} }
    const cycle: any = { set: new Set([1]), map: new Map() };
    cycle.cycle = cycle;
    export const supports = new Set(["a"]);
    export default async (event: Event) => {
        console.log("at", event);
        await Promise.all([1, 2].map(async (n) => host.twice(n)));
        if (event.fail) throw new Error(`failed ${Kind[1]}`);
        return new Node(event.n);
    };
"#;

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * PAGE_BYTES
}

fn evaluate(run: usize, cached: bool) {
    let host = HostFunctions::new()
        .with("twice", |arguments| arguments[0].as_i64().map(|n| json!(n * 2)).ok_or_else(|| "no number".to_owned()));
    let cache = cached.then(|| Cache::new(MemoryCache::new(), CacheTrust::TextAndBytecode));
    let grants = Grants { host, cache, log: Some(Box::new(|_, _: &str| {})), ..Grants::default() };
    let limits = Limits { time: std::time::Duration::from_secs(20), ..Limits::default() };
    let engine = Engine::new(limits, grants).unwrap();
    let script = engine.load(&Source::new("leak.ts", TEXT)).unwrap();
    assert_eq!(script.exports().unwrap()["supports"], json!(["a"]));
    let call = |event| script.call(&Callee::export("default"), &[event]);
    assert_eq!(call(json!({ "n": run })).unwrap(), json!({ "n": run }));
    assert!(call(json!({ "fail": true })).is_err());
    if run.is_multiple_of(2) {
        drop(engine);
    }
}

#[test]
fn a_thousand_evaluations_leak_nothing() {
    for run in 0..WARM_UP {
        evaluate(run, run.is_multiple_of(3));
    }
    let before = resident_bytes();
    for run in 0..RUNS {
        evaluate(run, run.is_multiple_of(3));
    }
    let after = resident_bytes();
    let growth = after.saturating_sub(before);
    assert!(growth < ALLOWED_GROWTH_BYTES, "{before} bytes before, {after} after");
}
