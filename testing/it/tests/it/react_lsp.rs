//! The language server with an editor's messages on its pipes.

use crate::react_workspace::{PipeText, Workspace};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Child, ChildStdin, Stdio};

/// `dispatch lsp` as an editor starts it.
pub(crate) struct LspProcess {
    root: String,
    pub(crate) process: Child,
    input: ChildStdin,
    pub(crate) output: PipeText,
}

impl LspProcess {
    /// One that has opened the workspace.
    pub(crate) fn open(workspace: &Workspace) -> Self {
        Self::open_with(workspace, &[])
    }

    /// The same with further variables.
    pub(crate) fn open_with(workspace: &Workspace, variables: &[(&str, &str)]) -> Self {
        let mut command = workspace.context.command("dispatch");
        command.args(["lsp", "--stdio"]).envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), PipeText::gather(process.stdout.take().unwrap()));
        let root = format!("file://{}", workspace.context.project().display());
        let mut editor = Self { root, process, input, output };
        let folders = json!([{"uri": editor.root, "name": "w"}]);
        let opened =
            json!({"processId": null, "rootUri": editor.root, "capabilities": {}, "workspaceFolders": folders});
        editor.say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opened}));
        editor.say(json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        editor
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    pub(crate) fn say(&mut self, message: Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    }
}
