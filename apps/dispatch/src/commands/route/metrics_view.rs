//! Metrics of routing as two tables.

use crate::printer::table;
use ext_broker::contract::{ChannelMetrics, HookMetrics, RouteMetrics};

/// Both tables, or that there is nothing to count.
pub(super) fn shown(metrics: &RouteMetrics) -> String {
    if metrics.hooks.is_empty() && metrics.channels.is_empty() {
        return "no events and no replies in this time".to_owned();
    }
    let parts = [
        (!metrics.hooks.is_empty()).then(|| hooks(&metrics.hooks)),
        (!metrics.channels.is_empty()).then(|| channels(&metrics.channels)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

fn hooks(hooks: &[HookMetrics]) -> String {
    let head = ["hook", "fired", "passed", "failed", "timeout", "invalid", "skipped", "median", "p95"];
    let time = |ms: Option<u64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
    let row = |hook: &HookMetrics| {
        let counts = [hook.fired, hook.passed, hook.failed, hook.timeout, hook.invalid, hook.skipped];
        let counts = counts.map(|count| count.to_string());
        [vec![hook.hook.clone()], counts.to_vec(), vec![time(hook.median_ms), time(hook.p95_ms)]].concat()
    };
    with_head(&head, hooks.iter().map(row))
}

fn channels(channels: &[ChannelMetrics]) -> String {
    let head = ["channel", "received", "duplicates", "refused", "sent", "failed", "unknown", "waiting"];
    let row = |channel: &ChannelMetrics| {
        let came = [channel.received, channel.duplicates, channel.refused];
        let left = [channel.sent, channel.failed, channel.unknown, channel.waiting];
        let counts = came.into_iter().chain(left).map(|count| count.to_string());
        std::iter::once(channel.channel.clone()).chain(counts).collect()
    };
    with_head(&head, channels.iter().map(row))
}

fn with_head(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = head.iter().map(|word| (*word).to_owned()).collect();
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}
