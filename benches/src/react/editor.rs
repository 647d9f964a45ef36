//! An editor that speaks the Language Server Protocol with `dispatch lsp`, as far as saves need it.

use super::workspace::ReactWorkspace;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};

pub(super) struct Editor {
    child: Child,
    input: ChildStdin,
    folder: String,
}

impl Editor {
    /// Returns when the server has answered.
    pub(super) fn start(workspace: &ReactWorkspace) -> Result<Self> {
        let mut command = workspace.command(&["lsp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("its input")?;
        let mut output = BufReader::new(child.stdout.take().context("its output")?);
        let folder = format!("file://{}", workspace.project().display());
        let mut editor = Self { child, input, folder };
        let folders = json!([{ "uri": editor.folder, "name": "project" }]);
        let parameters =
            json!({ "processId": null, "rootUri": editor.folder, "capabilities": {}, "workspaceFolders": folders });
        editor.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters }))?;
        ensure!(read_message(&mut output)?["id"] == 1, "an answer to the first request");
        editor.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }))?;
        // A pipe that nobody reads would stop the server.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Ok(editor)
    }

    /// Says that a file is saved.
    pub(super) fn did_save(&mut self, name: &str) -> Result<()> {
        let document = json!({ "uri": format!("{}/{name}", self.folder) });
        let parameters = json!({ "textDocument": document });
        self.send(&json!({ "jsonrpc": "2.0", "method": "textDocument/didSave", "params": parameters }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let text = message.to_string();
        self.input.write_all(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes())?;
        Ok(self.input.flush()?)
    }
}

fn read_message(input: &mut impl BufRead) -> Result<Value> {
    let mut bytes = None;
    loop {
        let mut line = String::new();
        ensure!(input.read_line(&mut line)? > 0, "the server has left");
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => bytes = Some(value.parse()?),
            Some(_) => {}
            None => break,
        }
    }
    let mut text = vec![0; bytes.context("a length")?];
    input.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
