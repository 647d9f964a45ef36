//! Turns one tool call of one host into what it does.
//!
//! Pure.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::access::{Access, PathAccess, ToolKind};
use crate::hosts::{self, InputShape};
use crate::shell::{ShellContext, ShellEffects, analyze, analyze_windows};
use crate::{input, mcp, patch, path};

/// Calls inside a batched call beyond this number are not looked at one by one.
const MAX_PARALLEL_CALLS: usize = 64;

/// A tool call as a host reports it.
#[derive(Debug, Clone, Copy)]
pub struct ReportedCall<'a> {
    /// The host's id, such as `claude-code`.
    pub host: &'a str,
    /// The tool's name as the host spells it.
    pub tool: &'a str,
    /// The tool's input: an object, or text where the host sends text.
    pub input: &'a Value,
    /// The working directory of the event; empty when there is none.
    pub cwd: &'a str,
    /// The user's home directory, if it is known.
    pub home: Option<&'a str>,
}

/// What a tool call does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The tool's name as the host spells it.
    pub name: String,
    /// What the tool is for.
    pub kind: ToolKind,
    /// What is touched, as far as it is known; for a command, what its effects name.
    pub paths: Vec<PathAccess>,
    /// The command line, if the tool runs one.
    pub command: Option<String>,
    /// The addresses that are fetched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// What the command does, if the tool runs one.
    #[serde(skip)]
    pub effects: Option<ShellEffects>,
}

impl ToolCall {
    /// Says what a call does. Total: an unknown tool is `Other` and touches nothing known.
    #[must_use]
    pub fn classify(call: &ReportedCall<'_>) -> Self {
        match hosts::find(call.host, call.tool) {
            Some((_, kind, shape)) => Self::from_shape(call, kind, shape),
            None if mcp::is_mcp_name(call.host, call.tool) => Self::mcp(call),
            None => Self::bare(call, ToolKind::Other),
        }
    }

    /// The same for an event that says by itself that the call goes to an MCP server.
    #[must_use]
    pub fn mcp(call: &ReportedCall<'_>) -> Self {
        let mut found = Self::bare(call, ToolKind::Mcp);
        let fields = input::object(call.input);
        if let Some(command) = mcp_command(&fields) {
            found.run(call, &fields, Some(command));
        } else if let Some(access) = mcp::file_access(None, call.tool) {
            found.add_files(call, &fields, access);
            found.add_transfer(call, &fields, access);
        }
        found
    }

    /// Whether the call is known to change nothing and to reach nothing outside.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let known = match self.kind {
            ToolKind::Read | ToolKind::Search => true,
            ToolKind::Execute => self.effects.as_ref().is_some_and(ShellEffects::is_read_only),
            _ => false,
        };
        known && self.paths.iter().all(|path| path.access == Access::Read)
    }

    fn bare(call: &ReportedCall<'_>, kind: ToolKind) -> Self {
        Self { name: call.tool.to_owned(), kind, paths: Vec::new(), command: None, urls: Vec::new(), effects: None }
    }

    fn from_shape(call: &ReportedCall<'_>, kind: ToolKind, shape: InputShape) -> Self {
        let mut found = Self::bare(call, kind);
        let fields = input::object(call.input);
        match shape {
            InputShape::Nothing => {}
            InputShape::Files(access) => found.add_files(call, &fields, access),
            InputShape::Roots => found.add_files(call, &fields, Access::Read),
            InputShape::Command => found.run(call, &fields, command_line(call, &fields)),
            InputShape::Task => found.run(call, &fields, input::task_command(&fields)),
            InputShape::WindowsCommand => {
                found.command = command_line(call, &fields);
                let context = ShellContext { cwd: call.cwd, home: call.home };
                found.effects = found.command.as_deref().map(|command| analyze_windows(command, &context));
                found.paths = found.effects.as_ref().map(ShellEffects::path_accesses).unwrap_or_default();
            }
            InputShape::Keystrokes => {
                found.command = input::keystrokes(&fields);
                found.effects = Some(ShellEffects::running_process());
            }
            InputShape::Patch => found.add_patch(call, &fields),
            InputShape::Editor => found.add_editor(call, &fields),
            InputShape::Urls => found.urls = input::urls(&fields),
            InputShape::Download => {
                found.urls = input::urls(&fields);
                found.add_files(call, &fields, Access::Write);
            }
            InputShape::Parallel => found.add_parallel(call, &fields),
        }
        found
    }

    fn add(&mut self, call: &ReportedCall<'_>, text: &str, access: Access) {
        let path = path::resolve(text, call.cwd, call.home);
        let glob = access == Access::Read && path.contains('*');
        let entry = PathAccess { path, access, glob };
        if !self.paths.contains(&entry) {
            self.paths.push(entry);
        }
    }

    fn add_files(&mut self, call: &ReportedCall<'_>, fields: &Map<String, Value>, access: Access) {
        for text in input::paths(fields) {
            self.add(call, &text, access);
        }
    }

    /// `source` and `destination` of a tool that moves or copies.
    fn add_transfer(&mut self, call: &ReportedCall<'_>, fields: &Map<String, Value>, access: Access) {
        let moves = call.tool.contains("move") || call.tool.contains("rename");
        if let Some(source) = input::first_text(fields, &["source", "src", "from", "old_path", "oldPath"]) {
            self.add(call, &source, if moves { Access::Delete } else { Access::Read });
        }
        if let Some(target) = input::first_text(fields, &["destination", "dest", "dst", "to", "new_path", "newPath"]) {
            self.add(call, &target, if access == Access::Read { Access::Read } else { Access::Write });
        }
    }

    fn add_patch(&mut self, call: &ReportedCall<'_>, fields: &Map<String, Value>) {
        let text = input::patch_text(call.input);
        match text.map(|text| patch::patch_paths(&text)) {
            Some(Ok(files)) => {
                for (path, access) in files {
                    self.add(call, &path, access);
                }
            }
            _ => self.add_files(call, fields, Access::Write),
        }
    }

    fn add_editor(&mut self, call: &ReportedCall<'_>, fields: &Map<String, Value>) {
        let verb = input::first_text(fields, &["command", "mode"]).unwrap_or_default();
        let access = match verb.as_str() {
            "view" | "read" | "list" | "search" => Access::Read,
            "create" => Access::Create,
            "delete" | "remove" => Access::Delete,
            _ => Access::Write,
        };
        if access == Access::Read {
            self.kind = ToolKind::Read;
        }
        self.add_files(call, fields, access);
        if let Some(old) = input::first_text(fields, &["old_path", "oldPath"]) {
            self.add(call, &old, Access::Delete);
        }
        if let Some(new) = input::first_text(fields, &["new_path", "newPath"]) {
            self.add(call, &new, Access::Create);
        }
    }

    fn run(&mut self, call: &ReportedCall<'_>, fields: &Map<String, Value>, command: Option<String>) {
        let Some(command) = command else {
            return;
        };
        let asked = input::working_directory(fields);
        let cwd = match &asked {
            Some(directory) => path::resolve(directory, call.cwd, call.home),
            None => call.cwd.to_owned(),
        };
        let effects = analyze(&command, &ShellContext { cwd: &cwd, home: call.home });
        self.paths = effects.path_accesses();
        self.command = Some(command);
        self.effects = Some(effects);
    }

    fn add_parallel(&mut self, call: &ReportedCall<'_>, fields: &Map<String, Value>) {
        let Some(Value::Array(calls)) = fields.get("tool_uses") else {
            return;
        };
        let mut commands = Vec::new();
        for entry in calls.iter().take(MAX_PARALLEL_CALLS).filter_map(Value::as_object) {
            let Some(tool) = input::first_text(entry, &["recipient_name", "name"]) else {
                continue;
            };
            let nested = entry.get("parameters").unwrap_or(&Value::Null);
            if tool.ends_with("parallel") {
                continue;
            }
            let part = Self::classify(&ReportedCall { tool: &tool, input: nested, ..*call });
            self.absorb(part, &mut commands);
        }
        self.command = (!commands.is_empty()).then(|| commands.join("\n"));
    }

    /// A batch is as strong as its strongest part.
    fn absorb(&mut self, part: Self, commands: &mut Vec<String>) {
        if strength(part.kind) > strength(self.kind) {
            self.kind = part.kind;
        }
        self.paths.extend(part.paths);
        self.urls.extend(part.urls);
        commands.extend(part.command);
        match (&mut self.effects, part.effects) {
            (Some(all), Some(more)) => all.merge(more),
            (none, more) => {
                if none.is_none() {
                    *none = more;
                }
            }
        }
    }
}

fn command_line(call: &ReportedCall<'_>, fields: &Map<String, Value>) -> Option<String> {
    match call.input {
        Value::String(text) if fields.is_empty() => Some(text.clone()),
        _ => input::command(fields),
    }
}

/// The command line in an MCP tool's input; one word alone may as well be the verb of an editor.
fn mcp_command(fields: &Map<String, Value>) -> Option<String> {
    let command = input::command(fields)?;
    let words = fields.get("args").or_else(|| fields.get("arguments")).and_then(Value::as_array);
    let more: Vec<String> = words.into_iter().flatten().filter_map(Value::as_str).map(input::quote).collect();
    let line = if more.is_empty() { command } else { format!("{command} {}", more.join(" ")) };
    line.trim().contains(char::is_whitespace).then_some(line)
}

fn strength(kind: ToolKind) -> u8 {
    match kind {
        ToolKind::Other => 0,
        ToolKind::Read => 1,
        ToolKind::Search => 2,
        ToolKind::Fetch => 3,
        ToolKind::Mcp => 4,
        ToolKind::Agent => 5,
        ToolKind::Write => 6,
        ToolKind::Execute => 7,
    }
}
