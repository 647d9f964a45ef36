//! A copy of an extension's files with a fault in it: the original is started by a new `index.ts`, which then does wrong.

use crate::fault::{ECHO_TOOL, InjectedFault, MARK, PROBE_TOOL, UNDECLARED_TOOL, manifest_with_fault};
use dispatch_contracts::manifest::Capability;
use dispatch_script_extension::{ExtensionFolder, MANIFEST_FILE};

/// What the extension's own start file is called in the copy.
const ORIGINAL: &str = "extension-under-test";
/// The deadline of a probe that never returns, so that its check is over soon.
const ENDLESS_PROBE_MS: u64 = 400;
/// The deadline of every other tool: one that a busy machine keeps.
const TOOL_MS: u64 = 60_000;

/// The folder with this fault; `None` if it has no code to put it into.
#[must_use]
pub fn folder_with_fault(folder: &ExtensionFolder, fault: InjectedFault) -> Option<ExtensionFolder> {
    let entry = folder.entry()?;
    let ending = entry.rsplit('.').next()?;
    let original = format!("{ORIGINAL}.{ending}");
    let manifest = manifest_with_fault(folder.manifest()?, fault);
    let code = entry_code(&original, fault);
    let text = folder.text(entry)?.to_owned();
    Some(folder.clone().with_file(&original, text).with_file("index.ts", code).with_file(MANIFEST_FILE, manifest))
}

fn entry_code(original: &str, fault: InjectedFault) -> String {
    let (at_load, in_activate, probe) = fault_code(fault);
    let probe_ms = if fault == InjectedFault::ToolLoops { ENDLESS_PROBE_MS } else { TOOL_MS };
    format!(
        "import * as original from \"./{original}\";
export * from \"./{original}\";
const fail = () => {{ throw new Error(\"{MARK}\"); }};
const forever = () => {{ for (;;); }};
{at_load}
export async function activate(host) {{
  await original.activate(host);
  const probe = async (args, ctx) => {{ {probe} return \"ok\"; }};
  const tool = (name, execute, timeoutMs = {TOOL_MS}) =>
    host.defineTool({{ name, description: name, timeoutMs, execute }});
  tool(\"{PROBE_TOOL}\", probe, {probe_ms});
  tool(\"{ECHO_TOOL}\", () => \"still here\");
  {in_activate}
}}
"
    )
}

/// What runs when the module is loaded, at the end of `activate`, and in the probe.
fn fault_code(fault: InjectedFault) -> (&'static str, String, &'static str) {
    let filter = |id: &str, handler: &str| format!("host.addFilter(\"{id}\", {handler});");
    let none = String::new;
    match fault {
        InjectedFault::LoadThrows => ("fail();", none(), ""),
        InjectedFault::ActivateThrows => ("", "fail();".to_owned(), ""),
        InjectedFault::EventRejects => ("", "host.on(\"turn.started\", async () => fail());".to_owned(), ""),
        InjectedFault::BeforeToolThrows => ("", filter("tool.before", "fail"), ""),
        InjectedFault::BeforeToolHangs => ("", filter("tool.before", "forever"), ""),
        InjectedFault::RequestThrows => ("", filter("request.before", "fail"), ""),
        InjectedFault::RequestHangs => ("", filter("request.before", "forever"), ""),
        InjectedFault::LaterThrows => {
            let timer =
                "if (typeof setTimeout === \"function\") setTimeout(fail, 1); else Promise.resolve().then(fail);";
            ("", format!("{timer} Promise.resolve().then(fail);"), "")
        }
        InjectedFault::BeforeToolMutates => {
            let other = "(value) => ({ ...value, call: { ...value.call, name: \"run_shell\" } })";
            ("", filter("tool.before", other), "")
        }
        InjectedFault::RequestGarbage => ("", filter("request.before", "() => 42"), ""),
        InjectedFault::ToolThrows => ("", none(), "fail();"),
        InjectedFault::ToolLoops => ("", none(), "forever();"),
        InjectedFault::ToolCrashes => ("", none(), "ctx.output(\"running\"); forever();"),
        InjectedFault::ToolEatsMemory => {
            ("", none(), "const all = []; for (;;) all.push(new Array(100000).fill(all.length));")
        }
        InjectedFault::ToolFloods => ("", none(), "for (let n = 0; n < 2000; n += 1) ctx.output(\"x\".repeat(1000));"),
        InjectedFault::SlowEvents => {
            let slow = "const until = (n) => { let sum = 0; while (n > 0) { sum += n; n -= 1; } return sum; };";
            ("", format!("{slow} host.on(\"turn.started\", () => void until(200000));"), "")
        }
        InjectedFault::UndeclaredTool => ("", format!("tool(\"{UNDECLARED_TOOL}\", probe);"), ""),
        InjectedFault::Undeclared(capability) | InjectedFault::Ungranted(capability) => {
            ("", none(), capability_code(capability))
        }
    }
}

/// The use of a capability.
const fn capability_code(capability: Capability) -> &'static str {
    match capability {
        Capability::Network => "await host.fetch(\"http://127.0.0.1:9/\");",
        Capability::Secrets => "await host.secrets.get(\"key\");",
        Capability::Db => "await host.storage(\"probe\").get(\"key\");",
        _ => "await host.files.read(\"notes.txt\");",
    }
}
