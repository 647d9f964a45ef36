//! Turns effects into short lines, so that a corpus of commands can be read and compared.

use dispatch_toolcall::{EffectPath, ShellEffects};
use serde_json::Value;

/// One line per effect: `read /w/a`, `delete tree /w/b`, `unknown syntax`, `unbounded endless yes`.
pub(crate) fn lines(effects: &ShellEffects) -> Vec<String> {
    let mut lines = Vec::new();
    let lists = [
        ("read", &effects.reads),
        ("write", &effects.writes),
        ("create", &effects.creates),
        ("delete", &effects.deletes),
    ];
    for (word, paths) in lists {
        lines.extend(paths.iter().map(|path| format!("{word} {}", show(path))));
    }
    for moved in &effects.moves {
        lines.push(format!("move {} -> {}", show(&moved.from), show(&moved.to)));
    }
    let flags = [("network", effects.network), ("code", effects.runs_code), ("read ?", effects.unresolved_reads)];
    lines.extend(flags.iter().filter(|(_, set)| *set).map(|(word, _)| (*word).to_owned()));
    for unknown in &effects.unknown {
        let reason = name(&serde_json::to_value(unknown.reason));
        lines.push(format!("unknown {reason} {}", unknown.detail).trim_end().to_owned());
    }
    for fact in &effects.unbounded {
        lines.push(format!("unbounded {} {}", name(&serde_json::to_value(fact.what)), fact.target));
    }
    if effects.is_read_only() {
        lines.push("read-only".to_owned());
    }
    lines
}

fn show(path: &EffectPath) -> String {
    let glob = if path.glob { "glob " } else { "" };
    let tree = if path.recursive { "tree " } else { "" };
    format!("{glob}{tree}{}", path.path)
}

fn name(value: &Result<Value, serde_json::Error>) -> String {
    value.as_ref().ok().and_then(Value::as_str).unwrap_or_default().to_owned()
}
