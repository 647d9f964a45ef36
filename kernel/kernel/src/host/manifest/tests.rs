//! What a manifest may say, and the words in which everything else is refused.

use super::*;
use serde_json::json;

fn minimal() -> Value {
    json!({"id": "tool-search", "name": "Search", "version": "1.2.3", "apiVersion": "^0.2", "tier": "standard"})
}

fn with(changes: Value) -> String {
    let mut manifest = minimal();
    for (key, value) in changes.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    manifest.to_string()
}

fn said(text: &str) -> Vec<String> {
    parse(text).expect_err("the manifest is wrong").iter().map(ToString::to_string).collect()
}

#[test]
fn a_minimal_manifest_gets_the_defaults() {
    let manifest = parse(&minimal().to_string()).unwrap();
    assert_eq!(manifest.activation, Activation::Eager);
    assert_eq!(manifest.trust, Trust::External);
    assert!(manifest.depends_on.is_empty() && manifest.capabilities.is_empty());
}

#[test]
fn a_dependency_is_an_id_or_an_id_with_versions_and_is_written_as_an_object() {
    let manifest = parse(&with(json!({"dependsOn": ["intents", {"id": "broker", "version": "^2"}]}))).unwrap();
    let written = serde_json::to_value(&manifest).unwrap();
    assert_eq!(written["dependsOn"], json!([{"id": "intents", "version": "*"}, {"id": "broker", "version": "^2"}]));
    assert_eq!(parse(&written.to_string()).unwrap(), manifest);
}

#[test]
fn a_program_needs_a_name_the_capability_to_run_and_the_external_tier() {
    let external = json!({"tier": "external", "capabilities": ["spawn"], "program": ["python3", "main.py"]});
    assert_eq!(parse(&with(external)).unwrap().program, ["python3", "main.py"]);
    let wrong = json!({"program": ["", "main.py"]});
    let said = said(&with(wrong)).join("; ");
    for expected in ["`program[0]`: is empty", "it needs `spawn`", "is for extensions from outside this program"] {
        assert!(said.contains(expected), "{said}");
    }
    let text = json!({"tier": "external", "capabilities": ["spawn"], "program": "python3 main.py"});
    assert!(parse(&with(text)).unwrap_err()[0].to_string().contains("must be a list"));
}

#[test]
fn every_problem_is_named_at_once() {
    let text = json!({
        "id": "Tool_Search", "nmae": "Search", "version": "1.2", "apiVersion": 7, "tier": "stanard",
        "dependsOn": ["intents", {"id": "broker", "version": "two"}, {"id": "intents", "verson": "*"}, 5],
        "activation": {"onHook": ["kernel/turn.sealed", "sealed"]},
        "contributes": {"tools": ["look around", "look around"], "hooks": ["other/seen"], "routes": ["get /x"], "gadgets": []},
        "capabilities": ["db", "disk", "db"],
        "settingsSchema": {"type": "string"},
    });
    let paths: Vec<String> = parse(&text.to_string()).unwrap_err().into_iter().map(|problem| problem.path).collect();
    let expected = [
        "nmae",
        "name",
        "version",
        "apiVersion",
        "tier",
        "dependsOn[1].version",
        "dependsOn[2].verson",
        "dependsOn[3]",
        "contributes.gadgets",
        "capabilities[1]",
        "id",
        "dependsOn[2]",
        "activation.onHook[1]",
        "contributes.hooks[0]",
        "contributes.tools[0]",
        "contributes.tools[1]",
        "contributes.routes[0]",
        "contributes.tools[1]",
        "capabilities[1]",
        "settingsSchema",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn each_problem_says_what_to_do() {
    for (changes, expected) in [
        (
            json!({"id": "Search"}),
            "`id`: invalid extension id `Search` (use lower-case words joined by `-`, for example `tool-search`)",
        ),
        (json!({"id": "kernel"}), "`id`: `kernel` is the kernel's own name"),
        (json!({"tier": "stanard"}), "`tier`: unknown value `stanard` (did you mean `standard`?)"),
        (
            json!({"capabilities": ["telepathy"]}),
            "`capabilities[0]`: unknown value `telepathy` (one of: fs, shell, network, secrets, db, spawn, observe)",
        ),
        (json!({"dependOn": []}), "`dependOn`: unknown field (did you mean `dependsOn`?)"),
        (json!({"contributes": []}), "`contributes`: must be an object, not a list"),
        (json!({"dependsOn": ["tool-search"]}), "`dependsOn[0]`: names the extension itself"),
        (
            json!({"contributes": {"services": ["kernel/storage"]}}),
            "`contributes.services[0]`: `kernel/storage` does not belong to this extension (ids start with the extension's own: `tool-search/...`)",
        ),
        (
            json!({"activation": {"onHook": []}}),
            "`activation.onHook`: names no hook, so the extension would never start (write `\"eager\"` or `{\"onHook\": [\"owner/name\"]}`)",
        ),
        (
            json!({"activation": {"onHook": ["broker/sent"]}}),
            "`activation.onHook[0]`: `broker/sent` belongs to `broker`, which is not a dependency (add `broker` to `dependsOn`)",
        ),
        (
            json!({"settingsSchema": true}),
            "`settingsSchema`: does not describe an object (settings are an object: write `\"type\": \"object\"`)",
        ),
        (
            json!({"settingsSchema": {"type": "object", "properties": {"mask": {"pattern": "^a"}}}}),
            "`settingsSchema.properties.mask.pattern`: is not understood, so settings could not be checked",
        ),
        (
            json!({"activation": "lazy"}),
            "`activation`: is neither `eager` nor a list of hooks (write `\"eager\"` or `{\"onHook\": [\"owner/name\"]}`)",
        ),
    ] {
        assert_eq!(said(&with(changes)), [expected]);
    }
}

#[test]
fn what_is_no_manifest_at_all_is_said_in_one_line() {
    assert!(said("{")[0].starts_with("the file is not JSON: "));
    assert_eq!(said("[]"), ["must be an object, not a list"]);
    assert_eq!(said(&" ".repeat(MANIFEST_BYTES + 1)), ["the file has 262145 bytes; at most 262144 are read"]);
}

#[test]
fn a_core_extension_may_provide_the_kernels_storage_and_vault() {
    let services = json!({"services": ["kernel/storage", "kernel/secrets", "tool-search/index"]});
    assert!(parse(&with(json!({"tier": "core", "contributes": services}))).is_ok());
}

#[test]
fn code_from_elsewhere_cannot_call_itself_bundled_or_core() {
    let text = with(json!({"tier": "core", "trust": "bundled"}));
    assert_eq!(parse_from(&text, Trust::Bundled).unwrap().tier, Tier::Core);
    let problems = parse_from(&text, Trust::Local).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "`tier`: `core` is reserved for extensions that ship with the program (write `external`)"
    );
    let external = with(json!({"tier": "external", "trust": "bundled"}));
    assert_eq!(parse_from(&external, Trust::External).unwrap().trust, Trust::External);
}

#[test]
fn ids_are_lower_case_words() {
    for (id, good) in [
        ("a", true),
        ("storage-sqlite", true),
        ("x2-y", true),
        ("", false),
        ("-a", false),
        ("a-", false),
        ("a--b", false),
        ("2a", false),
        ("a_b", false),
        ("é", false),
        ("../a", false),
    ] {
        assert_eq!(rules::is_id(id), good, "{id:?}");
    }
    assert!(!rules::is_id(&"a".repeat(65)));
}
