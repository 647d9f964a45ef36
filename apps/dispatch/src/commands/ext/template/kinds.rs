//! What each kind of new extension consists of.

use crate::args::ExtensionKind;

/// The files and the manifest of one kind; `NAME` stands for the extension's name.
pub(super) struct KindTemplate {
    pub(super) index: &'static str,
    pub(super) logic: &'static str,
    pub(super) adapter: &'static str,
    pub(super) test: &'static str,
    pub(super) description: &'static str,
    /// What the manifest names: kind and name.
    pub(super) contributes: &'static [(&'static str, &'static str)],
    pub(super) capabilities: &'static [&'static str],
    /// The properties of the settings, as JSON.
    pub(super) settings: &'static str,
    /// How the user tries it.
    pub(super) tried: &'static str,
}

const GREETING: &str = r#"{ "greeting": { "type": "string", "minLength": 1, "description": "How it greets." } }"#;
const WORDS: &str =
    r#"{ "words": { "type": "array", "items": { "type": "string" }, "description": "What is hidden." } }"#;
const PREFIX: &str = r#"{ "prefix": { "type": "string", "description": "What every answer begins with." } }"#;
const NO_SETTINGS: &str = "{}";

macro_rules! files {
    ($kind:literal, { $($rest:tt)* }) => {
        KindTemplate {
            index: include_str!(concat!($kind, "/index.ts")),
            logic: include_str!(concat!($kind, "/logic.ts")),
            adapter: include_str!(concat!($kind, "/adapter.ts")),
            test: include_str!(concat!($kind, "/logic.test.ts")),
            $($rest)*
        }
    };
}

/// The template of a kind.
pub(super) const fn template(kind: ExtensionKind) -> KindTemplate {
    match kind {
        ExtensionKind::Tool => files!("tool", {
            description: "Greets somebody.",
            contributes: &[("tools", "NAME")],
            capabilities: &[],
            settings: GREETING,
            tried: "dispatch chat \"call NAME {}\"",
        }),
        ExtensionKind::Command => files!("command", {
            description: "Greets somebody.",
            contributes: &[("commands", "NAME")],
            capabilities: &[],
            settings: GREETING,
            tried: "dispatch run NAME",
        }),
        ExtensionKind::Filter => files!("filter", {
            description: "Hides words in the results of tools before the model reads them.",
            contributes: &[],
            capabilities: &[],
            settings: WORDS,
            tried: "dispatch chat \"read notes.txt\"",
        }),
        ExtensionKind::Event => files!("event", {
            description: "Says in the log how each turn ended.",
            contributes: &[],
            capabilities: &[],
            settings: NO_SETTINGS,
            tried: "dispatch chat",
        }),
        ExtensionKind::Route => files!("route", {
            description: "Greets somebody over HTTP.",
            contributes: &[("routes", "GET /v1/NAME")],
            capabilities: &[],
            settings: GREETING,
            tried: "dispatch serve",
        }),
        ExtensionKind::Job => files!("job", {
            description: "Counts, once a minute while a server runs.",
            contributes: &[("jobs", "NAME"), ("commands", "NAME")],
            capabilities: &["db", "spawn"],
            settings: NO_SETTINGS,
            tried: "dispatch run NAME",
        }),
        ExtensionKind::Provider => files!("provider", {
            description: "A model that repeats what it is told.",
            contributes: &[("providers", "NAME")],
            capabilities: &[],
            settings: PREFIX,
            tried: "dispatch --set model.provider=NAME --set model.model=echo chat hello",
        }),
    }
}
