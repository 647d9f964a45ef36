//! The JSON Schemas that ship with the program, as they are committed.

/// One schema.
pub(crate) struct ShippedSchema {
    pub(crate) name: &'static str,
    /// What it is the schema of.
    pub(crate) about: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! shipped {
    ($($name:literal: $about:literal,)+) => {
        /// Every schema, in the order the documentation lists them.
        pub(crate) const SHIPPED: &[ShippedSchema] = &[$(ShippedSchema {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../sdk/schema/", $name, ".schema.json")),
        },)+];
    };
}

shipped! {
    "hook-input": "what a host writes to standard input",
    "hook-output": "what the native dialect writes to standard output",
    "ctx": "the second argument of a module's handle()",
    "hook-action": "what a module returns",
    "state": "state.json",
    "event-record": "one line of events.jsonl",
    "artifact-record": "one line of registry.jsonl",
    "rlm-policy": ".ai/hooks/rlm-policy.json",
    "followup-rules": ".ai/hooks/followup-rules.json",
    "manifest": ".ai/hooks/dispatch.manifest.json",
    "workspace": ".ai/hooks/workspace.json",
    "config": ".ai/hooks/config.json",
    "workspace-hooks": ".akira/hooks.json",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_json_and_says_what_it_is() {
        for schema in SHIPPED {
            let value: serde_json::Value = serde_json::from_str(schema.text).unwrap();
            assert_eq!(value["title"].as_str().unwrap().to_lowercase(), schema.about.to_lowercase(), "{}", schema.name);
            assert!(value["$schema"].is_string(), "{}", schema.name);
        }
    }
}
