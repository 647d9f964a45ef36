//! What each kind of new extension consists of.

use crate::args::ExtensionKind;

/// What an extension may use, for editors.
const TYPES: &str = include_str!("../../../../../../sdk/extension.d.ts");
/// What a test may use, for editors.
const TEST_TYPES: &str = include_str!("../../../../../../sdk/dispatch-test.d.ts");
/// The extension protocol in Python.
const PROTOCOL: &str = include_str!("../../../../../../sdk/examples/python-tool/dispatch_extension.py");
/// Files that are the same in every extension.
pub(super) const SHARED_FILES: [&str; 3] = ["extension.d.ts", "dispatch-test.d.ts", "dispatch_extension.py"];

/// The files and the manifest of one kind; `NAME` stands for the extension's name.
pub(super) struct KindTemplate {
    /// Name and text.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// The command line, if it is a separate program.
    pub(super) program: &'static [&'static str],
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
            files: &[
                ("index.ts", include_str!(concat!($kind, "/index.ts"))),
                ("logic.ts", include_str!(concat!($kind, "/logic.ts"))),
                ("adapter.ts", include_str!(concat!($kind, "/adapter.ts"))),
                ("logic.test.ts", include_str!(concat!($kind, "/logic.test.ts"))),
                ("extension.d.ts", TYPES),
                ("dispatch-test.d.ts", TEST_TYPES),
                ("tsconfig.json", include_str!("tsconfig.json")),
                ("AGENTS.md", include_str!("AGENTS.md")),
            ],
            program: &[],
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
        ExtensionKind::Program => KindTemplate {
            files: &[
                ("main.py", include_str!("program/main.py")),
                ("logic.py", include_str!("program/logic.py")),
                ("test_logic.py", include_str!("program/test_logic.py")),
                ("dispatch_extension.py", PROTOCOL),
                ("AGENTS.md", include_str!("program/AGENTS.md")),
            ],
            program: &["python3", "main.py"],
            description: "Greets somebody, in Python.",
            contributes: &[("tools", "NAME")],
            capabilities: &["spawn"],
            settings: GREETING,
            tried: "dispatch chat \"call NAME {}\"",
        },
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
