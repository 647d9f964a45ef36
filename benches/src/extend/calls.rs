//! A tool call of each kind, and a chain of filters, as the kernel makes them.

use super::written::WrittenExtension;
use super::{Goal, kernel_host};
use crate::sample::Samples;
use crate::sessions::ReportRow;
use anyhow::{Context as _, Result, anyhow, ensure};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::ToolCall;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::hooks::{TOOL_BEFORE, ToolBefore, TurnRef};
use dispatch_contracts::host::Host;
use dispatch_contracts::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use dispatch_kernel::bus::WaitLog;
use dispatch_kernel::host::ExtensionHost;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Calls before the first that counts.
const WARM: u32 = 50;
const CALLS: u32 = 2_000;
const CHAINS: u32 = 500;
const FILTERS: usize = 10;
const COMPILED: &str = "compiled";
const WRITTEN: &str = "written";
/// What a call in TypeScript may take beside the compiled one: so many times as long, and so much more.
const TIMES: f64 = 3.0;
const MORE_US: f64 = 150.0;
const CHAIN_LIMIT_MS: f64 = 3.0;

pub(super) fn rows() -> Result<Vec<ReportRow>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let mut written = vec![WrittenExtension::with_tool("writes", WRITTEN)];
        written.extend((0..FILTERS).map(|number| WrittenExtension::with_filter(&format!("filter-{number}"))));
        let host = kernel_host::start(Arc::new(CompiledExtension), &written, folder.path()).await?;
        let rows = vec![tool_row(&host, folder.path()).await?, chain_row(&host, folder.path()).await?];
        host.shutdown().await;
        Ok(rows)
    })
}

async fn tool_row(host: &ExtensionHost, workdir: &Path) -> Result<ReportRow> {
    let rust = time_tool(host, COMPILED, workdir).await?;
    let script = time_tool(host, WRITTEN, workdir).await?;
    let limit = TIMES * rust.median_us() + MORE_US;
    let goal = Goal { what: "tool call in TypeScript, median", unit: "µs", figure: script.median_us(), limit };
    Ok(goal.row(format!(
        "{:.1} µs compiled; best {:.1} µs, 95 of 100 within {:.1} µs",
        rust.median_us(),
        script.best_us(),
        script.percentile_us(95)
    )))
}

async fn time_tool(host: &ExtensionHost, name: &str, workdir: &Path) -> Result<Samples> {
    let tools = host.tools();
    let tool = tools.iter().find(|tool| tool.item.spec().name == name).context("the tool is there")?;
    let mut samples = Samples::default();
    for number in 0..WARM + CALLS {
        let arguments = Map::from_iter([("text".to_owned(), json!(number))]);
        let context = ToolContext {
            call_id: number.to_string().as_str().into(),
            session: "bench".into(),
            workdir: workdir.to_path_buf(),
            cancel: CancelToken::new(),
            sink: Arc::new(|_, _| {}),
        };
        let start = Instant::now();
        let output = tool.item.call(arguments, context).await.map_err(|error| anyhow!("{error:?}"))?;
        let time = start.elapsed();
        ensure!(output.text == format!("heard {number}"), "the tool answered {output:?}");
        if number >= WARM {
            samples.add(time);
        }
    }
    Ok(samples)
}

async fn chain_row(host: &ExtensionHost, workdir: &Path) -> Result<ReportRow> {
    let mut samples = Samples::default();
    for number in 0..WARM + CHAINS {
        let call = ToolCall {
            id: number.to_string().as_str().into(),
            name: COMPILED.to_owned(),
            arguments: Map::from_iter([("text".to_owned(), json!(number))]),
        };
        let turn = TurnRef { session: "bench".into(), turn: "turn".into(), workdir: workdir.to_path_buf() };
        let before = ToolBefore { turn, call, denied: None, questions: Vec::new() };
        let start = Instant::now();
        let after = host.bus().apply(&TOOL_BEFORE, before, &WaitLog::new()).await;
        let time = start.elapsed();
        let after = after.map_err(|failed| anyhow!("the chain failed: {failed:?}"))?;
        ensure!(after.call.arguments.get("seen") == Some(&json!(FILTERS)), "not all filters ran: {after:?}");
        if number >= WARM {
            samples.add(time);
        }
    }
    let milliseconds = samples.median_us() / 1e3;
    let what = format!("{FILTERS} filters of {FILTERS} extensions in a chain, median");
    let goal = Goal { what: &what, unit: "ms", figure: milliseconds, limit: CHAIN_LIMIT_MS };
    Ok(goal.row(format!("{:.2} ms for 95 of 100", samples.percentile_us(95) / 1e3)))
}

/// An extension of this program with the same tool.
struct CompiledExtension;

impl Extension for CompiledExtension {
    fn manifest(&self) -> Cow<'_, str> {
        let manifest = json!({
            "id": COMPILED,
            "name": COMPILED,
            "version": "1.0.0",
            "apiVersion": "^0.2.0",
            "tier": "standard",
            "contributes": { "tools": [COMPILED] },
        });
        manifest.to_string().into()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let spec = ToolSpec {
                name: COMPILED.to_owned(),
                description: "Answers.".to_owned(),
                parameters: json!({ "type": "object" }),
                concurrency_safe: false,
            };
            host.define_tool(Arc::new(CompiledTool(spec))).map(drop).map_err(ExtensionError::new)
        })
    }
}

struct CompiledTool(ToolSpec);

impl Tool for CompiledTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn effect(&self, _arguments: &Map<String, Value>) -> Effect {
        Effect::Looks
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let text = arguments.get("text").map(Value::to_string).unwrap_or_default();
            Ok(ToolOutput { text: format!("heard {text}"), ..ToolOutput::default() })
        })
    }
}
