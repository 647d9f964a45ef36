//! Files in which hosts look for MCP servers, edited without harm to the rest of them.

use dispatch_hook_dialects::register::{Document, FileEditor, RegisterError, Registered, Removal};

use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

/// Our name among the servers; the guard knows our tools by it.
const NAME: &str = "dispatch";
const COMMAND: &str = "mcp";
const TOML_SECTION: &str = "mcp_servers";

/// How a host writes one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `command` and `args`.
    Plain,
    /// The same with this `type`.
    Typed(&'static str),
    /// The same with the tools that may be used.
    WithTools,
    /// One list of words.
    WordList,
}

/// A JSON file with a section of servers.
#[derive(Debug)]
pub(super) struct JsonFile {
    pub(super) section: &'static str,
    pub(super) spelling: Spelling,
    pub(super) program: String,
}

impl JsonFile {
    fn entry(&self) -> Value {
        let program = &self.program;
        match self.spelling {
            Spelling::Plain => json!({"command": program, "args": [COMMAND]}),
            Spelling::Typed(name) => json!({"type": name, "command": program, "args": [COMMAND]}),
            Spelling::WithTools => json!({"type": "local", "command": program, "args": [COMMAND], "tools": ["*"]}),
            Spelling::WordList => json!({"type": "local", "command": [program, COMMAND], "enabled": true}),
        }
    }

    fn parse(&self, text: &str) -> Result<Document, RegisterError> {
        Document::parse(text, || format!("{:#}", json!({ self.section: { NAME: self.entry() } })))
    }

    /// The servers; `None` if there are none.
    fn servers<'a>(&self, document: &'a Document) -> Result<Option<&'a Map<String, Value>>, RegisterError> {
        let shape = || RegisterError::Shape { at: self.section.to_owned(), expected: "an object" };
        document.root.get(self.section).map(|section| section.as_object().ok_or_else(shape)).transpose()
    }
}

impl FileEditor for JsonFile {
    fn merge(&self, existing: Option<&str>) -> Result<String, RegisterError> {
        let mut document = existing.map_or_else(|| Ok(Document::empty()), |text| self.parse(text))?;
        if self.servers(&document)?.and_then(|servers| servers.get(NAME)) == Some(&self.entry()) {
            return Ok(existing.unwrap_or_default().to_owned());
        }
        let section = document.root.entry(self.section).or_insert_with(|| json!({}));
        section[NAME] = self.entry();
        document.print()
    }

    fn remove(&self, existing: &str) -> Result<Removal, RegisterError> {
        let mut document = self.parse(existing)?;
        if self.servers(&document)?.is_none_or(|servers| !servers.contains_key(NAME)) {
            return Ok(Removal::Keep(existing.to_owned()));
        }
        if let Some(servers) = document.root.get_mut(self.section).and_then(Value::as_object_mut) {
            servers.shift_remove(NAME);
            if servers.is_empty() {
                document.root.shift_remove(self.section);
            }
        }
        let empty = document.root.is_empty() && !document.has_comments();
        Ok(if empty { Removal::Delete } else { Removal::Keep(document.print()?) })
    }

    fn check(&self, existing: Option<&str>) -> Result<Registered, RegisterError> {
        let Some(text) = existing else { return Ok(Registered::Missing) };
        let document = self.parse(text)?;
        let found = self.servers(&document)?.and_then(|servers| servers.get(NAME)).cloned();
        Ok(judge(found, &self.entry()))
    }
}

fn judge(found: Option<Value>, wanted: &Value) -> Registered {
    match found {
        None => Registered::Missing,
        Some(found) if found == *wanted => Registered::Yes,
        Some(_) => Registered::Differs(vec![format!("the MCP server `{NAME}` is not as it should be")]),
    }
}

/// The settings of Codex, with their comments.
#[derive(Debug)]
pub(super) struct CodexFile {
    pub(super) program: String,
}

impl CodexFile {
    fn wanted(&self) -> Value {
        json!({"command": self.program, "args": [COMMAND]})
    }

    fn found(document: &DocumentMut) -> Option<Value> {
        let table = document.get(TOML_SECTION)?.as_table_like()?.get(NAME)?.as_table_like()?;
        let command = table.get("command").and_then(Item::as_str);
        let words = table.get("args").and_then(Item::as_array);
        let words: Vec<&str> = words.into_iter().flatten().filter_map(toml_edit::Value::as_str).collect();
        Some(json!({"command": command, "args": words}))
    }
}

fn toml(text: &str) -> Result<DocumentMut, RegisterError> {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
    text.parse().map_err(|error: toml_edit::TomlError| RegisterError::Unreadable {
        detail: format!("it is not TOML: {}", first_line(&error.to_string())),
    })
}

fn servers(document: &mut DocumentMut) -> Result<&mut dyn toml_edit::TableLike, RegisterError> {
    let section = document.entry(TOML_SECTION).or_insert_with(|| {
        let mut table = Table::new();
        // `[mcp_servers.dispatch]` says it all.
        table.set_implicit(true);
        Item::Table(table)
    });
    let expected = "a table";
    section.as_table_like_mut().ok_or_else(|| RegisterError::Shape { at: TOML_SECTION.to_owned(), expected })
}

impl FileEditor for CodexFile {
    fn merge(&self, existing: Option<&str>) -> Result<String, RegisterError> {
        let mut document = toml(existing.unwrap_or_default())?;
        if Self::found(&document) == Some(self.wanted()) {
            return Ok(existing.unwrap_or_default().to_owned());
        }
        let servers = servers(&mut document)?;
        let ours = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
        let Some(ours) = ours.as_table_like_mut() else {
            return Err(RegisterError::Shape { at: format!("{TOML_SECTION}.{NAME}"), expected: "a table" });
        };
        ours.insert("command", value(self.program.as_str()));
        ours.insert("args", value(toml_edit::Array::from_iter([COMMAND])));
        Ok(document.to_string())
    }

    fn remove(&self, existing: &str) -> Result<Removal, RegisterError> {
        let mut document = toml(existing)?;
        if Self::found(&document).is_none() {
            return Ok(Removal::Keep(existing.to_owned()));
        }
        let servers = servers(&mut document)?;
        servers.remove(NAME);
        if servers.is_empty() {
            document.remove(TOML_SECTION);
        }
        let text = document.to_string();
        Ok(if text.trim().is_empty() { Removal::Delete } else { Removal::Keep(text) })
    }

    fn check(&self, existing: Option<&str>) -> Result<Registered, RegisterError> {
        let Some(text) = existing else { return Ok(Registered::Missing) };
        Ok(judge(Self::found(&toml(text)?), &self.wanted()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_file(spelling: Spelling) -> JsonFile {
        JsonFile { section: "mcpServers", spelling, program: "/bin/dispatch".to_owned() }
    }

    fn round_trip(editor: &dyn FileEditor, before: Option<&str>) -> String {
        assert_eq!(editor.check(before).unwrap(), Registered::Missing);
        let after = editor.merge(before).unwrap();
        assert_eq!(editor.check(Some(&after)).unwrap(), Registered::Yes);
        assert_eq!(editor.merge(Some(&after)).unwrap(), after);
        let left = editor.remove(&after).unwrap();
        assert_eq!(left, before.map_or(Removal::Delete, |text| Removal::Keep(text.to_owned())));
        after
    }

    #[test]
    fn json_files_keep_the_servers_of_others() {
        let others = "{\n    \"mcpServers\": {\n        \"x\": {\n            \"url\": \"u\"\n        }\n    }\n}";
        for spelling in [Spelling::Plain, Spelling::Typed("stdio"), Spelling::WithTools, Spelling::WordList] {
            let after = round_trip(&json_file(spelling), Some(others));
            assert!(after.contains("\"url\": \"u\"") && after.contains("        \"dispatch\": {"), "{after}");
            round_trip(&json_file(spelling), None);
        }
    }

    #[test]
    fn what_another_wrote_under_our_name_differs_and_is_put_right() {
        let file = json_file(Spelling::Plain);
        let other = r#"{"mcpServers": {"dispatch": {"command": "old", "args": ["mcp"]}}}"#;
        assert!(matches!(file.check(Some(other)).unwrap(), Registered::Differs(_)));
        assert_eq!(file.check(Some(&file.merge(Some(other)).unwrap())).unwrap(), Registered::Yes);
        for wrong in ["[]", "{", r#"{"mcpServers": []}"#] {
            assert!(file.merge(Some(wrong)).is_err(), "{wrong}");
        }
        assert!(file.merge(Some("// c\n{}")).unwrap().starts_with("// c\n{"), "comments stay");
    }

    #[test]
    fn toml_keeps_its_comments() {
        let file = CodexFile { program: "C:\\dispatch.exe".to_owned() };
        let before = "# mine\nmodel = \"x\" # best\n\n[mcp_servers.other]\ncommand = 'o'\n";
        let after = round_trip(&file, Some(before));
        assert!(after.starts_with(before) && after.contains("[mcp_servers.dispatch]\n"), "{after}");
        assert_eq!(round_trip(&file, None).lines().next(), Some("[mcp_servers.dispatch]"));
        assert!(file.merge(Some("a = [")).is_err() && file.merge(Some("mcp_servers = 1")).is_err());
    }
}
