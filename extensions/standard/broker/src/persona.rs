//! Personas as people write them: front matter between two lines of dashes, then the prompt.
//!
//! Pure.

use dispatch_contracts::limits::DispatchPolicy;
use dispatch_contracts::suggest::nearest;
use ext_session_orchestrator::contract::{ToolChoice, TurnContext};
use serde_json::json;

/// The option that providers know the effort by.
const EFFORT_OPTION: &str = "reasoning_effort";
/// The keys of the front matter.
const KEYS: [&str; 4] = ["model", "tools", "policy", "reasoning_effort"];
/// The keys below `policy`.
const POLICY_KEYS: [&str; 2] = ["max_concurrent", "eager"];

/// A named agent profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Persona {
    pub(crate) prompt: String,
    pub(crate) model: Option<String>,
    /// Patterns of the tools it uses; all if it names none.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) policy: Option<DispatchPolicy>,
    pub(crate) reasoning_effort: Option<String>,
}

/// What is wrong with a persona, and in which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct InvalidPersona {
    pub(crate) line: usize,
    pub(crate) problem: String,
}

impl Persona {
    /// Reads a persona from its file.
    pub(crate) fn read(text: &str) -> Result<Self, InvalidPersona> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate();
        let has_front_matter = lines.next().is_some_and(|(_, line)| line.trim_end() == "---");
        if !has_front_matter {
            return Ok(Self { prompt: text.trim().to_owned(), ..Self::default() });
        }
        let mut reader = FrontMatter::default();
        for (at, line) in lines.by_ref() {
            if line.trim_end() == "---" {
                let rest: Vec<&str> = lines.map(|(_, line)| line).collect();
                reader.persona.prompt = rest.join("\n").trim().to_owned();
                return Ok(reader.persona);
            }
            reader.line(line).map_err(|problem| InvalidPersona { line: at + 1, problem })?;
        }
        Err(InvalidPersona { line: 1, problem: "the front matter has no end; close it with a line `---`".to_owned() })
    }

    /// Whether it does more than leave tools out: then it can steer the owner's own turns, and one that came with a
    /// project needs approval.
    pub(crate) fn steers(&self) -> bool {
        let narrows_only = Self { tools: self.tools.clone(), ..Self::default() };
        *self != narrows_only
    }

    /// Shapes a turn of this persona.
    pub(crate) fn shape(&self, mut context: TurnContext) -> TurnContext {
        if !self.prompt.is_empty() {
            context.system.push(self.prompt.clone());
        }
        if let Some(model) = &self.model {
            context.models = vec![model.clone()];
        }
        if let Some(tools) = &self.tools {
            context.tools = ToolChoice::Only(tools.clone());
        }
        if let Some(policy) = self.policy {
            context.policy = policy;
        }
        if let Some(effort) = &self.reasoning_effort {
            context.options.entry(EFFORT_OPTION).or_insert_with(|| json!(effort));
        }
        context
    }
}

/// Where a line below a key belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OpenKey {
    #[default]
    None,
    Tools,
    Policy,
}

#[derive(Default)]
struct FrontMatter {
    persona: Persona,
    open: OpenKey,
}

impl FrontMatter {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return Ok(());
        }
        if let Some(item) = trimmed.strip_prefix("- ").filter(|_| self.open == OpenKey::Tools) {
            self.persona.tools.get_or_insert_default().push(scalar(item));
            return Ok(());
        }
        let (key, value) =
            trimmed.split_once(':').ok_or_else(|| format!("expected `key: value`, found `{trimmed}`"))?;
        let (key, value) = (snake(key.trim()), value.trim());
        if line.starts_with([' ', '\t']) && self.open == OpenKey::Policy {
            return self.policy(&key, value);
        }
        self.open = OpenKey::None;
        match (key.as_str(), value) {
            ("model", value) => self.persona.model = Some(non_empty("model", value)?),
            ("reasoning_effort", value) => self.persona.reasoning_effort = Some(non_empty("reasoning_effort", value)?),
            ("tools", "") => {
                self.persona.tools = Some(Vec::new());
                self.open = OpenKey::Tools;
            }
            ("tools", value) => self.persona.tools = Some(list(value)),
            ("policy", "") => {
                self.persona.policy = Some(DispatchPolicy::default());
                self.open = OpenKey::Policy;
            }
            ("policy", _) => return Err("`policy` has its keys on the lines below it".to_owned()),
            (other, _) => return Err(unknown(other, &KEYS)),
        }
        Ok(())
    }

    fn policy(&mut self, key: &str, value: &str) -> Result<(), String> {
        let policy = self.persona.policy.get_or_insert_default();
        match key {
            "max_concurrent" => {
                policy.max_concurrent =
                    value.parse().map_err(|_| format!("`max_concurrent` is `{value}`, not a number"))?;
            }
            "eager" => policy.eager = value.parse().map_err(|_| format!("`eager` is `{value}`, not true or false"))?,
            other => return Err(unknown(other, &POLICY_KEYS)),
        }
        Ok(())
    }
}

fn unknown(key: &str, known: &[&str]) -> String {
    let hint = nearest(key, known.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    format!("unknown key `{key}`{}", hint.unwrap_or_default())
}

fn non_empty(key: &str, value: &str) -> Result<String, String> {
    let value = scalar(value);
    if value.is_empty() { Err(format!("`{key}` is empty")) } else { Ok(value) }
}

fn list(value: &str) -> Vec<String> {
    let inner = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(value);
    inner.split(',').map(scalar).filter(|item| !item.is_empty()).collect()
}

fn scalar(value: &str) -> String {
    let value = value.trim();
    let unquoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    unquoted('"').or_else(|| unquoted('\'')).unwrap_or(value).to_owned()
}

/// `maxConcurrent` and `max-concurrent` are `max_concurrent`.
fn snake(key: &str) -> String {
    let mut name = String::new();
    for letter in key.chars() {
        match letter {
            '-' | ' ' => name.push('_'),
            upper if upper.is_ascii_uppercase() => {
                name.push('_');
                name.push(upper.to_ascii_lowercase());
            }
            other => name.push(other),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persona_is_front_matter_and_a_prompt() {
        let text = "---\nmodel: qwen3\ntools: [read_file, \"search_*\"]\npolicy:\n  maxConcurrent: 3\n  eager: false\n\
                    reasoningEffort: high\n---\n\nYou are Atlas.\n";
        let read = Persona::read(text).unwrap();
        assert_eq!(read.prompt, "You are Atlas.");
        assert_eq!(read.model.as_deref(), Some("qwen3"));
        assert_eq!(read.tools.unwrap(), ["read_file", "search_*"]);
        assert_eq!(read.policy, Some(DispatchPolicy { max_concurrent: 3, eager: false }));
        assert_eq!(read.reasoning_effort.as_deref(), Some("high"));
        let listed = Persona::read("---\ntools:\n  - read_file\n  - todo\n---\nx").unwrap();
        assert_eq!(listed.tools.unwrap(), ["read_file", "todo"]);
        assert_eq!(Persona::read("Just a prompt.").unwrap().prompt, "Just a prompt.");
        assert_eq!(Persona::read("---\ntools: []\n---\n").unwrap().tools.unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line() {
        for (text, expected) in [
            ("---\nmodle: x\n---\n", "line 2: unknown key `modle`; did you mean `model`?"),
            ("---\nmodel: x\n", "line 1: the front matter has no end"),
            ("---\nmodel:\n---\n", "line 2: `model` is empty"),
            ("---\npolicy:\n  eager: maybe\n---\n", "line 3: `eager` is `maybe`, not true or false"),
            ("---\nwords\n---\n", "line 2: expected `key: value`"),
        ] {
            let error = Persona::read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
