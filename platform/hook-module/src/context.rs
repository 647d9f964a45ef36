//! What a module sees of one hook event: values, and bounded reads that happen only when asked for.

mod capability;
mod ids;
mod notes;
mod paths;
mod view;
mod work_layout;

use std::time::Duration;

use dispatch_toolcall::ToolCall;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clock::Clock;
use crate::event::{EventName, HookEvent};
use crate::phase::Phase;
use crate::record::Record;
use crate::state::SessionState;
use crate::unattended::Unattended;

pub use capability::{Capabilities, Neo4jCapability};
pub use ids::{Ids, MAIN_AGENT, WORK_ID_DIGITS, agent_key, hook_run_id, next_agent_id, next_work_id, work_number};
pub use notes::{LogLevel, LogLine, Notes};
pub use paths::{HOOKS_FOLDER, LAYOUT_NAME, ModuleFolders, Paths, USER_HOOKS_FOLDER, WORK_FOLDER};
pub use view::{RuleException, SessionView};
pub use work_layout::{LAYOUT_LIMIT_BYTES, WorkLayout};

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effects {
    /// What the event leads to is kept.
    Commit,
    /// Nothing is; the answer alone is wanted.
    DryRun,
}

/// One hook event with everything a module may know about it.
pub struct Context<'a> {
    /// The ids of the invocation.
    pub ids: &'a Ids,
    /// The event; its tool input is the one in force, after any rewrite.
    pub event: &'a HookEvent,
    /// What the tool call does, for events about one.
    pub call: Option<&'a ToolCall>,
    /// Where everything is.
    pub paths: &'a Paths,
    /// The session's state, as it was when the invocation began.
    pub state: &'a SessionState,
    /// The module's own section of `config.json`; `null` if it has none.
    pub config: &'a Value,
    /// The module's own folders.
    pub folders: ModuleFolders,
    /// What is known of optional services.
    pub cap: Capabilities,
    /// How much time there is.
    pub timers: Timers<'a>,
    /// The user's home directory, if it is known.
    pub home: Option<&'a str>,
    /// Whether a module that keeps files of its own may write them.
    pub effects: Effects,
    /// What becomes of a question when nobody is there to answer it.
    pub unattended: Option<Unattended>,
    /// Bounded reads of the session and the workspace.
    pub session: &'a dyn SessionView,
    /// What the module says beside its action.
    pub notes: &'a Notes,
}

impl Context<'_> {
    /// The module's configuration. A broken one is a warning and gives the defaults.
    #[must_use]
    pub fn settings<T: DeserializeOwned + Default>(&self) -> T {
        if self.config.is_null() {
            return T::default();
        }
        T::deserialize(self.config).unwrap_or_else(|_| {
            let (good, bad) = good_parts::<T>(self.config);
            for (key, error) in bad {
                self.warn(format!("`{key}` in the configuration is not usable, so its default holds: {error}"));
            }
            T::deserialize(&good).unwrap_or_default()
        })
    }

    /// A sentence for people; it becomes a `WARNING` record.
    pub fn warn(&self, message: impl Into<String>) {
        self.notes.warn(message.into());
    }

    /// A line for the module's `debug.log`.
    pub fn log(&self, level: LogLevel, message: impl Into<String>) {
        self.notes.log(level, message.into());
    }

    /// Whether an exception of the user's covers this rule now. Asking counts as using it, so ask
    /// only about a rule that would otherwise object.
    #[must_use]
    pub fn is_excused(&self, code: &str) -> bool {
        let now_ms = self.timers.now_ms();
        let is_left = |exception: &&RuleException| {
            exception.covers(code, now_ms) && (!exception.once || self.session.take_exception(exception, self.effects))
        };
        let found = self.session.exceptions().iter().find(is_left);
        if let Some(exception) = found {
            self.notes.excuse(exception.clone());
        }
        found.is_some()
    }

    /// The lifecycle phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.state.phase()
    }

    /// Whether a tool call is about to run.
    #[must_use]
    pub fn is_before_tool(&self) -> bool {
        self.event.name == EventName::PreToolUse
    }

    /// This turn's records, oldest first, as far as the bound of the view reaches.
    #[must_use]
    pub fn turn_records(&self) -> Vec<&Record> {
        self.session.turn(self.ids.turn_id)
    }
}

/// What is usable of a section, and each key that is not with the reason; one level below a key is looked at too.
fn good_parts<T: DeserializeOwned>(section: &Value) -> (Value, Vec<(String, String)>) {
    use serde_json::{Map, json};
    let mut good = Map::new();
    let mut bad = Vec::new();
    for (key, value) in section.as_object().into_iter().flatten() {
        let Err(error) = T::deserialize(json!({ key: value })) else {
            good.insert(key.clone(), value.clone());
            continue;
        };
        let Value::Object(inner) = value else {
            bad.push((key.clone(), error.to_string()));
            continue;
        };
        let mut kept = Map::new();
        for (name, item) in inner {
            match T::deserialize(json!({ key: { name: item } })) {
                Ok(_) => drop(kept.insert(name.clone(), item.clone())),
                Err(error) => bad.push((format!("{key}.{name}"), error.to_string())),
            }
        }
        good.insert(key.clone(), Value::Object(kept));
    }
    if !section.is_object() {
        bad.push((String::new(), "expected an object".to_owned()));
    }
    (Value::Object(good), bad)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::good_parts;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Example {
        rules: BTreeMap<String, bool>,
        limit: u32,
    }

    #[test]
    fn one_mistake_takes_no_other_part_away() {
        let section = json!({"rules": {"a": true, "b": "maybe"}, "limit": 7});
        let (good, bad) = good_parts::<Example>(&section);
        assert_eq!(good, json!({"rules": {"a": true}, "limit": 7}));
        assert_eq!(bad.len(), 1);
        assert_eq!(bad[0].0, "rules.b");
        let (good, bad) = good_parts::<Example>(&json!({"rules": {}, "limit": "x"}));
        assert_eq!((good, bad.len()), (json!({"rules": {}}), 1));
    }
}

/// How much time there is.
#[derive(Clone, Copy)]
pub struct Timers<'a> {
    /// When the invocation began, in Unix milliseconds.
    pub start_ms: i64,
    /// How long it may take.
    pub budget_ms: u64,
    /// The clock that counts.
    pub clock: &'a dyn Clock,
}

impl Timers<'_> {
    /// Time since the invocation began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// What was used of the budget.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.clock.spent()
    }

    /// What is left of the budget; zero once it is used up.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        Duration::from_millis(self.budget_ms).saturating_sub(self.spent())
    }

    /// Wall time in Unix milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.clock.unix_ms()
    }
}
