//! What a script costs: an engine, one module, one call; then with the caches warm.

use crate::sample::Samples;
use crate::{row, table};
use anyhow::{Result, anyhow};
use dispatch_script::{Cache, CacheTrust, Callee, Engine, Grants, Limits, MemoryCache, Source, SourceCache};
use serde_json::json;
use std::sync::Arc;

/// A module as people write them: patterns, a class, an async handler.
const MODULE: &str = include_str!("script/module.ts");

/// Shares one store between engines, as a folder on disk would.
struct SharedStore(Arc<MemoryCache>);

impl SourceCache for SharedStore {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        self.0.put(key, bytes);
    }
}

pub(crate) fn run() -> Result<()> {
    evaluate(None)?;
    let mut rows = vec![row!["engine + one TypeScript module + one call", "best us", "median us"]];
    for (label, trust) in [
        ("nothing cached", None),
        ("stripped text cached", Some(CacheTrust::Text)),
        ("bytecode cached", Some(CacheTrust::TextAndBytecode)),
    ] {
        let store = Arc::new(MemoryCache::new());
        let cache = || trust.map(|trust| Cache::new(SharedStore(Arc::clone(&store)), trust));
        let samples = Samples::of(300, || drop(evaluate(cache())));
        rows.push(row![label, format!("{:.0}", samples.best_us()), format!("{:.0}", samples.median_us())]);
    }
    let bare = Samples::of(300, || drop(Engine::new(Limits::default(), Grants::default())));
    rows.push(row!["(an engine alone)", format!("{:.0}", bare.best_us()), format!("{:.0}", bare.median_us())]);
    table::print(&rows);
    Ok(())
}

fn evaluate(cache: Option<Cache>) -> Result<()> {
    let failed = |error: dispatch_script::ScriptError| anyhow!("the module failed: {}", error.message);
    let engine = Engine::new(Limits::default(), Grants { cache, ..Grants::default() }).map_err(failed)?;
    let script = engine.load(&Source::new("module.ts", MODULE)).map_err(failed)?;
    let event = json!({"toolName": "Bash", "command": "git push --force origin main", "paths": []});
    let answer = script.call(&Callee::default_method("handle"), &[json!("PreToolUse"), event]).map_err(failed)?;
    anyhow::ensure!(answer["decision"] == "deny", "the module answered {answer}");
    Ok(())
}
