//! Hook files: JSON that maps events to commands, in the few shapes hosts use.

use serde_json::{Map, Value, json};

use super::command::{CommandLine, System, is_ours};
use super::document::Document;
use super::lookup::{RegisteredCommand, line_for};
use super::{RegisterError, Registered, Removal};

/// The keys under which hosts keep a command line.
const COMMAND_KEYS: [&str; 5] = ["command", "windows", "powershell", "bash", "commandWindows"];

/// The version of Qwen Code's settings. It rewrites a file without one and leaves a copy; a file that was there is of the
/// version that its other keys are of.
pub(super) const NEW_FILE_KEY: &str = "$version";

/// How events and commands are nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    /// `hooks.EVENT[]` holds commands.
    Flat,
    /// `hooks.EVENT[].hooks[]` holds commands.
    Grouped,
    /// `EVENT[].hooks[]` holds commands: no `hooks` around the events.
    GroupedAtRoot,
    /// `hooks[]` holds entries that name their event and wrap their command in `action`.
    List,
}

/// One file's shape and what belongs into it.
#[derive(Debug, Clone)]
pub(super) struct HooksFile {
    pub(super) host: &'static str,
    /// Hosts that read the same file, whose registration serves this one too.
    pub(super) siblings: &'static [&'static str],
    pub(super) nesting: Nesting,
    /// Keys a new file needs beside the hooks.
    pub(super) seed: Option<(&'static str, Value)>,
    /// Events and their time limits in seconds.
    pub(super) events: &'static [(&'static str, u32)],
    /// Builds the object that holds the command.
    pub(super) handler: fn(&CommandLine, &'static str, &str, u32) -> Map<String, Value>,
}

impl HooksFile {
    pub(super) fn merge(&self, existing: Option<&str>, command: &CommandLine) -> Result<String, RegisterError> {
        let mut document = self.open(existing, command)?;
        let seed = self.seed.as_ref().filter(|(key, _)| existing.is_none() || *key != NEW_FILE_KEY);
        if let Some((key, value)) = seed {
            let root = &mut document.root;
            root.entry(*key).or_insert_with(|| value.clone());
        }
        self.drop_wrapped(&mut document.root);
        for (event, timeout_seconds) in self.events {
            let wanted = (self.handler)(command, self.host, event, *timeout_seconds);
            let slots = self.slots(&mut document.root, event)?;
            match self.ours(slots, event, &wanted) {
                Some(handler) => {
                    self.update(handler, &wanted);
                }
                None => slots.push(self.wrap(event, wanted)),
            }
        }
        document.print()
    }

    pub(super) fn remove(&self, existing: &str) -> Result<Removal, RegisterError> {
        let mut document = Document::parse(existing, String::new)?;
        let mut removed = 0;
        match self.nesting {
            Nesting::List => {
                if let Some(Value::Array(slots)) = document.root.get_mut("hooks") {
                    removed += self.drop_ours(slots);
                }
            }
            Nesting::GroupedAtRoot => {
                removed += self.drop_wrapped(&mut document.root);
                removed += self.drop_events(&mut document.root);
            }
            Nesting::Flat | Nesting::Grouped => {
                if let Some(Value::Object(events)) = document.root.get_mut("hooks") {
                    removed += self.drop_events(events);
                }
            }
        }
        if removed == 0 {
            return Ok(Removal::Keep(existing.to_owned()));
        }
        if self.nesting != Nesting::GroupedAtRoot && is_empty(document.root.get("hooks")) {
            document.root.shift_remove("hooks");
        }
        let seeded =
            |(key, value): (&String, &Value)| self.seed.as_ref().is_some_and(|seed| key == seed.0 && *value == seed.1);
        if document.root.iter().all(seeded) && !document.has_comments() {
            return Ok(Removal::Delete);
        }
        Ok(Removal::Keep(document.print()?))
    }

    pub(super) fn check(&self, existing: Option<&str>, command: &CommandLine) -> Result<Registered, RegisterError> {
        let mut document = self.open(existing, command)?;
        let mut found = 0;
        let mut differences = Vec::new();
        for (event, timeout_seconds) in self.events {
            let wanted = (self.handler)(command, self.host, event, *timeout_seconds);
            let slots = self.slots(&mut document.root, event)?;
            match self.ours(slots, event, &wanted) {
                None => differences.push(format!("{event}: not registered")),
                Some(handler) => {
                    found += 1;
                    let now = shown(handler);
                    differences.extend(shorter_time(handler, &wanted).map(|what| format!("{event}: {what}")));
                    if self.update(handler, &wanted) {
                        let then = shown(handler);
                        differences.push(format!("{event}: `{now}` should be `{then}`"));
                    }
                }
            }
        }
        Ok(match (found, differences.is_empty()) {
            (_, true) => Registered::Yes,
            (0, false) => Registered::Missing,
            (_, false) => Registered::Differs(differences),
        })
    }

    pub(super) fn commands(&self, existing: &str, system: System) -> Result<Vec<RegisteredCommand>, RegisterError> {
        let mut document = Document::parse(existing, String::new)?;
        let mut found = Vec::new();
        for (event, _) in self.events {
            let slots = self.slots(&mut document.root, event)?;
            let ours = slots.iter_mut().flat_map(|slot| self.handlers(slot));
            let ours = ours.filter(|handler| self.is_our_handler(handler) && self.is_for(handler, event));
            let launches = ours.filter_map(|handler| line_for(self.host, command_object(handler), system));
            found.extend(launches.map(|launch| RegisteredCommand { event, launch }));
        }
        Ok(found)
    }

    fn open(&self, existing: Option<&str>, command: &CommandLine) -> Result<Document, RegisterError> {
        match existing {
            None => Ok(Document::empty()),
            Some(text) => Document::parse(text, || self.snippet(command)),
        }
    }

    /// What a new file would say, for people who must add it by hand.
    fn snippet(&self, command: &CommandLine) -> String {
        self.merge(None, command).unwrap_or_default()
    }

    /// The array that holds the commands, groups or entries of one event.
    fn slots<'a>(&self, root: &'a mut Map<String, Value>, event: &str) -> Result<&'a mut Vec<Value>, RegisterError> {
        let events = match self.nesting {
            Nesting::List => return array(root, "hooks", "hooks".to_owned()),
            Nesting::GroupedAtRoot => root,
            Nesting::Flat | Nesting::Grouped => {
                let hooks = root.entry("hooks").or_insert_with(|| json!({}));
                hooks
                    .as_object_mut()
                    .ok_or_else(|| RegisterError::Shape { at: "hooks".to_owned(), expected: "an object" })?
            }
        };
        array(events, event, format!("hooks.{event}"))
    }

    /// Our command of the event: one that names our program, or the very line we would write.
    fn ours<'a>(
        &self,
        slots: &'a mut [Value],
        event: &str,
        wanted: &Map<String, Value>,
    ) -> Option<&'a mut Map<String, Value>> {
        let is_ours = |handler: &Map<String, Value>| self.is_our_handler(handler) || shown(handler) == shown(wanted);
        slots
            .iter_mut()
            .flat_map(|slot| self.handlers(slot))
            .find(|handler| is_ours(handler) && self.is_for(handler, event))
    }

    /// Sets the command keys of `handler`, leaving what a user tuned; says whether that changed it.
    fn update(&self, handler: &mut Map<String, Value>, wanted: &Map<String, Value>) -> bool {
        let before = handler.clone();
        if shorter_time(handler, wanted).is_some() {
            handler.insert("timeout".to_owned(), wanted.get("timeout").cloned().unwrap_or_default());
        }
        let wanted = command_object(wanted);
        let sibling = command_object(handler)
            .get("command")
            .and_then(Value::as_str)
            .zip(wanted.get("command").and_then(Value::as_str))
            .is_some_and(|(now, then)| self.same_but_host(now, then));
        if sibling {
            return false;
        }
        edit_commands(handler, |lines| {
            for key in COMMAND_KEYS {
                match wanted.get(key) {
                    Some(line) => drop(lines.insert(key.to_owned(), line.clone())),
                    None => drop(lines.shift_remove(key)),
                }
            }
        });
        before != *handler
    }

    fn same_but_host(&self, now: &str, then: &str) -> bool {
        // What is said where the program is missing differs between hosts, and does not matter.
        let call = |line: &str| line.rsplit("; exec ").next().unwrap_or(line).to_owned();
        let head = |line: &str| call(line).rsplit_once("--host").map(|(head, _)| head.to_owned());
        !self.siblings.is_empty() && now != then && head(now) == head(then)
    }

    fn is_our_handler(&self, handler: &Map<String, Value>) -> bool {
        let mut hosts = vec![self.host];
        hosts.extend(self.siblings);
        let holder = command_object(handler);
        COMMAND_KEYS.iter().filter_map(|key| holder.get(*key)?.as_str()).any(|line| is_ours(line, &hosts))
    }

    /// Whether a handler belongs to the event; only lists mix events.
    fn is_for(&self, handler: &Map<String, Value>, event: &str) -> bool {
        self.nesting != Nesting::List || handler.get("trigger").and_then(Value::as_str) == Some(event)
    }

    fn handlers<'a>(&self, slot: &'a mut Value) -> Vec<&'a mut Map<String, Value>> {
        match self.nesting {
            Nesting::Flat | Nesting::List => slot.as_object_mut().into_iter().collect(),
            Nesting::Grouped | Nesting::GroupedAtRoot => slot
                .get_mut("hooks")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
                .filter_map(Value::as_object_mut)
                .collect(),
        }
    }

    fn wrap(&self, event: &str, handler: Map<String, Value>) -> Value {
        match self.nesting {
            Nesting::Flat | Nesting::List => Value::Object(handler),
            Nesting::Grouped => json!({ "hooks": [handler] }),
            Nesting::GroupedAtRoot if event.ends_with("ToolUse") => {
                json!({ "matcher": "", "hooks": [handler] })
            }
            Nesting::GroupedAtRoot => json!({ "hooks": [handler] }),
        }
    }

    /// Takes out what an earlier version wrote below `hooks`, where a host with its events at the root does not look.
    fn drop_wrapped(&self, root: &mut Map<String, Value>) -> usize {
        let Some(Value::Object(events)) = root.get_mut("hooks").filter(|_| self.nesting == Nesting::GroupedAtRoot)
        else {
            return 0;
        };
        let removed = self.drop_events(events);
        if removed > 0 && events.is_empty() {
            root.shift_remove("hooks");
        }
        removed
    }

    fn drop_events(&self, events: &mut Map<String, Value>) -> usize {
        let mut removed = 0;
        events.retain(|_, slots| {
            let Value::Array(slots) = slots else {
                return true;
            };
            let here = self.drop_ours(slots);
            removed += here;
            here == 0 || !slots.is_empty()
        });
        removed
    }

    fn drop_ours(&self, slots: &mut Vec<Value>) -> usize {
        let mut removed = 0;
        slots.retain_mut(|slot| {
            let before = removed;
            match self.nesting {
                Nesting::Flat | Nesting::List => {
                    let ours = slot.as_object().is_some_and(|one| self.is_our_handler(one));
                    removed += usize::from(ours);
                }
                Nesting::Grouped | Nesting::GroupedAtRoot => {
                    if let Some(Value::Array(handlers)) = slot.get_mut("hooks") {
                        let count = handlers.len();
                        handlers.retain(|one| !one.as_object().is_some_and(|one| self.is_our_handler(one)));
                        removed += count - handlers.len();
                        return removed == before || !handlers.is_empty();
                    }
                }
            }
            removed == before
        });
        removed
    }
}

/// A time limit below ours, at which the host goes on without an answer. A longer one is the user's choice.
fn shorter_time(handler: &Map<String, Value>, wanted: &Map<String, Value>) -> Option<String> {
    let (now, then) = (handler.get("timeout")?.as_f64()?, wanted.get("timeout")?.as_f64()?);
    (now < then).then(|| format!("`timeout` is {now}, and should be {then}"))
}

fn array<'a>(parent: &'a mut Map<String, Value>, key: &str, at: String) -> Result<&'a mut Vec<Value>, RegisterError> {
    let value = parent.entry(key).or_insert_with(|| json!([]));
    value.as_array_mut().ok_or(RegisterError::Shape { at, expected: "an array" })
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Object(object)) => object.is_empty(),
        Some(Value::Array(array)) => array.is_empty(),
        _ => false,
    }
}

/// Where a handler keeps its command lines: in itself, or in its `action`.
fn command_object(handler: &Map<String, Value>) -> &Map<String, Value> {
    handler.get("action").and_then(Value::as_object).unwrap_or(handler)
}

fn edit_commands(handler: &mut Map<String, Value>, edit: impl FnOnce(&mut Map<String, Value>)) {
    match handler.get_mut("action") {
        Some(Value::Object(action)) => edit(action),
        _ => edit(handler),
    }
}

fn shown(handler: &Map<String, Value>) -> String {
    let line = command_object(handler).get("command").and_then(Value::as_str);
    line.unwrap_or_default().to_owned()
}
