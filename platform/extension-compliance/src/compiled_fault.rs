//! An extension that is compiled in, with a fault around it: it speaks with the extension's own host.

use crate::fault::{ECHO_TOOL, InjectedFault, MARK, PROBE_TOOL, UNDECLARED_TOOL, manifest_with_fault};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::hooks::{REQUEST_BEFORE, RequestBefore, TOOL_BEFORE, TURN_STARTED, ToolBefore};
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::manifest::Capability;
use dispatch_contracts::tool::{OutputStream, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// How long a slow handler takes.
const SLOW_MS: u64 = 50;

/// The extension with a fault around it; `None` where code in this process cannot be stopped from outside.
#[must_use]
pub fn with_fault(extension: Arc<dyn Extension>, fault: InjectedFault) -> Option<Arc<dyn Extension>> {
    let contained =
        !matches!(fault, InjectedFault::ToolLoops | InjectedFault::ToolEatsMemory | InjectedFault::ToolCrashes);
    let manifest = manifest_with_fault(&extension.manifest(), fault);
    contained.then(|| Arc::new(FaultyExtension { inner: extension, manifest, fault }) as Arc<dyn Extension>)
}

struct FaultyExtension {
    inner: Arc<dyn Extension>,
    manifest: String,
    fault: InjectedFault,
}

impl Extension for FaultyExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.manifest)
    }

    fn harness(&self) -> Harness {
        self.inner.harness()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            if self.fault == InjectedFault::LoadThrows {
                // A panic like any other, but one that the user is not told of: it is meant.
                std::panic::resume_unwind(Box::new(MARK));
            }
            self.inner.activate(host.clone()).await?;
            for (name, fault) in [(PROBE_TOOL, Some(self.fault)), (ECHO_TOOL, None)] {
                let probe = ProbeTool { spec: spec(name), fault, host: host.clone() };
                host.define_tool(Arc::new(probe)).map_err(ExtensionError::new)?;
            }
            inject(&host, self.fault)
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        self.inner.deactivate()
    }
}

fn failed() -> HandlerError {
    HandlerError(MARK.to_owned())
}

fn inject(host: &Host, fault: InjectedFault) -> Result<(), ExtensionError> {
    match fault {
        InjectedFault::ActivateThrows => return Err(ExtensionError(MARK.to_owned())),
        InjectedFault::EventRejects => host.on(&TURN_STARTED, |_| async { Err(failed()) }).map(drop),
        InjectedFault::BeforeToolThrows => host.filter(&TOOL_BEFORE, 0, |_| async { Err(failed()) }).map(drop),
        InjectedFault::BeforeToolHangs => host.filter(&TOOL_BEFORE, 0, |_| std::future::pending()).map(drop),
        InjectedFault::RequestThrows => host.filter(&REQUEST_BEFORE, 0, |_| async { Err(failed()) }).map(drop),
        InjectedFault::RequestHangs => host.filter(&REQUEST_BEFORE, 0, |_| std::future::pending()).map(drop),
        InjectedFault::RequestGarbage => host
            .filter(&REQUEST_BEFORE, 0, |mut value: RequestBefore| async move {
                value.turn.turn = TurnId::new("another");
                Ok(value)
            })
            .map(drop),
        InjectedFault::BeforeToolMutates => host
            .filter(&TOOL_BEFORE, 0, |mut value: ToolBefore| async move {
                "run_shell".clone_into(&mut value.call.name);
                Ok(value)
            })
            .map(drop),
        // Without the capability there is no background work that could fail: that is a pass as well.
        InjectedFault::LaterThrows => {
            let _ = host.spawn("injected", async { Err(failed()) });
            Ok(())
        }
        InjectedFault::SlowEvents => {
            let clock = host.clock();
            host.on(&TURN_STARTED, move |_| {
                let clock = Arc::clone(&clock);
                async move {
                    clock.sleep_ms(SLOW_MS).await;
                    Ok(())
                }
            })
            .map(drop)
        }
        InjectedFault::UndeclaredTool => {
            let probe = ProbeTool { spec: spec(UNDECLARED_TOOL), fault: None, host: host.clone() };
            host.define_tool(Arc::new(probe)).map(drop)
        }
        _ => Ok(()),
    }
    .map_err(ExtensionError::new)
}

fn spec(name: &str) -> ToolSpec {
    let (name, description) = (name.to_owned(), name.to_owned());
    ToolSpec { name, description, parameters: json!({ "type": "object" }), concurrency_safe: false }
}

struct ProbeTool {
    spec: ToolSpec,
    fault: Option<InjectedFault>,
    host: Host,
}

impl Tool for ProbeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.fault {
                None => return Ok(ToolOutput::text("still here")),
                Some(InjectedFault::ToolThrows) => return Err(ToolError(MARK.to_owned())),
                Some(InjectedFault::ToolFloods) => {
                    let line = "x".repeat(1_000);
                    (0..2_000).for_each(|_| context.output(OutputStream::Stdout, line.as_bytes()));
                }
                Some(InjectedFault::Undeclared(capability) | InjectedFault::Ungranted(capability)) => {
                    use_capability(&self.host, capability)?;
                }
                Some(_) => {}
            }
            Ok(ToolOutput::text("ok"))
        })
    }
}

fn use_capability(host: &Host, capability: Capability) -> Result<(), ToolError> {
    let used = match capability {
        Capability::Db => host.storage().map(drop),
        Capability::Secrets => host.secrets().map(drop),
        other => host.dynamic().require("reach out", other),
    };
    used.map_err(|error| ToolError(error.to_string()))
}
