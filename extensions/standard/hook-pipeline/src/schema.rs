//! The JSON Schemas of everything that goes in and out of the pipeline, generated from its types.

mod context;
mod files;
mod input;
mod policy;

#[cfg(test)]
mod tests;

use dispatch_hook_dialects::dialect::native_reply_schema;
use dispatch_hook_module::{HookAction, Record, WorkLayout};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::manifest::PipelineManifest;

/// One schema.
pub(crate) struct NamedSchema {
    /// What `dispatch schema` calls it; the file is `<name>.schema.json`.
    pub name: &'static str,
    /// What it is the schema of.
    pub title: &'static str,
    make: fn() -> Schema,
}

/// Every schema, in the order the documentation lists them.
pub(crate) const ALL: [NamedSchema; 12] = [
    NamedSchema { name: "hook-input", title: "What a host writes to standard input", make: of::<input::HookInput> },
    NamedSchema {
        name: "hook-output",
        title: "What the native dialect writes to standard output",
        make: native_reply_schema,
    },
    NamedSchema { name: "ctx", title: "The second argument of a module's handle()", make: of::<context::Ctx> },
    NamedSchema { name: "hook-action", title: "What a module returns", make: of::<HookAction> },
    NamedSchema { name: "state", title: "state.json", make: of::<files::StateFile> },
    NamedSchema { name: "event-record", title: "One line of events.jsonl", make: of::<Record> },
    NamedSchema { name: "artifact-record", title: "One line of registry.jsonl", make: of::<files::ArtifactRecord> },
    NamedSchema { name: "rlm-policy", title: ".ai/hooks/rlm-policy.json", make: of::<policy::RlmPolicy> },
    NamedSchema { name: "followup-rules", title: ".ai/hooks/followup-rules.json", make: of::<policy::FollowupFile> },
    NamedSchema { name: "manifest", title: ".ai/hooks/dispatch.manifest.json", make: of::<PipelineManifest> },
    NamedSchema { name: "workspace", title: ".ai/hooks/workspace.json", make: of::<WorkLayout> },
    NamedSchema { name: "config", title: ".ai/hooks/config.json", make: of::<files::ConfigFile> },
];

impl NamedSchema {
    /// The schema itself.
    #[must_use]
    pub(crate) fn to_value(&self) -> Value {
        let mut value = (self.make)().to_value();
        value["title"] = self.title.into();
        value
    }

    /// The committed file.
    #[must_use]
    pub(crate) fn to_text(&self) -> String {
        format!("{:#}\n", self.to_value())
    }
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}
