//! Extensions as files, for a host or a project.

use serde_json::{Value, json};

/// A manifest and the code in `index.ts`.
pub(super) struct WrittenExtension {
    pub(super) id: String,
    pub(super) manifest: Value,
    pub(super) code: String,
}

impl WrittenExtension {
    fn new(id: String, contributes: Value, code: String) -> Self {
        let manifest = json!({
            "id": id,
            "name": id,
            "version": "1.0.0",
            "apiVersion": "^0.2.0",
            "tier": "external",
            "contributes": contributes,
        });
        Self { id, manifest, code }
    }

    /// One with a tool that answers at once.
    pub(super) fn with_tool(id: &str, tool: &str) -> Self {
        let code = format!(
            "export function activate(host) {{
  host.defineTool({{ name: '{tool}', description: 'Answers.', execute: ({{ text }}) => `heard ${{text}}` }});
}}"
        );
        Self::new(id.to_owned(), json!({ "tools": [tool] }), code)
    }

    /// One with a command that says a word.
    pub(super) fn with_command(id: &str, command: &str, word: &str) -> Self {
        let code = format!(
            "export function activate(host) {{
  host.defineCommand({{ name: '{command}', description: 'Says a word.', run: () => '{word}' }});
}}"
        );
        Self::new(id.to_owned(), json!({ "commands": [command] }), code)
    }

    /// One that changes the arguments of every call a little.
    pub(super) fn with_filter(id: &str) -> Self {
        let code = "export function activate(host) {
  host.addFilter('tool.before', (value) => {
    const { arguments: given } = value.call;
    return { ...value, call: { ...value.call, arguments: { ...given, seen: (given.seen ?? 0) + 1 } } };
  });
}";
        Self::new(id.to_owned(), json!({}), code.to_owned())
    }

    /// The same one, which says in `activate` that it was started: so it cannot be started later than that.
    pub(super) fn that_speaks(mut self) -> Self {
        self.code = self.code.replacen("(host) {", "(host) {\n  host.logger.debug('started');", 1);
        self
    }
}
