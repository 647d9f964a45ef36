//! Extensions that cannot run, each for another reason: what is said about each, and that everybody else works.

use dispatch_support::TestContext;
use serde_json::Value;

fn manifest(id: &str, fields: &str) -> String {
    format!(r#"{{"id":"{id}","name":"{id}","version":"1.0.0","apiVersion":"^0.2.0","tier":"external"{fields}}}"#)
}

/// An extension of the project that nobody approved yet.
fn write(context: &TestContext, id: &str, fields: &str, code: &str) {
    context.write_cloned(format!(".dispatch/extensions/{id}/manifest.json"), manifest(id, fields));
    context.write_cloned(format!(".dispatch/extensions/{id}/index.ts"), code);
}

fn lines(context: &TestContext, id: &str) -> Vec<Value> {
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    listed.as_array().unwrap().iter().filter(|line| line["id"] == id).cloned().collect()
}

const EMPTY: &str = "export const activate = () => {};";
const GREETS: &str =
    "export const activate = (host) => host.defineCommand({ name: 'hi', description: 'x', run: () => 'hello' });";

#[test]
fn each_is_named_with_its_file_and_the_rest_works() {
    let context = TestContext::new();
    let place = context.project().join(".dispatch/extensions");
    write(&context, "fine", r#","contributes":{"commands":["hi"]}"#, GREETS);
    write(&context, "ring-a", r#","dependsOn":["ring-b"]"#, EMPTY);
    write(&context, "ring-b", r#","dependsOn":["ring-a"]"#, EMPTY);
    write(&context, "lonely", r#","dependsOn":["weather"]"#, EMPTY);
    write(&context, "linked", "", EMPTY);
    std::os::unix::fs::symlink("/etc/hostname", place.join("linked/more.ts")).unwrap();
    write(&context, "native", "", EMPTY);
    std::fs::write(place.join("native/addon.node"), "ELF").unwrap();
    write(&context, "large", "", EMPTY);
    std::fs::File::create(place.join("large/data.ts")).unwrap().set_len(50 * 1024 * 1024).unwrap();
    write(&context, "typo", "", "export function activate(host) {\n  const x: = 1;\n}\n");
    write(&context, "throws", "", "export function activate() {\n\n  throw new Error('not today');\n}\n");
    for id in ["fine", "ring-a", "ring-b", "lonely", "typo", "throws"] {
        let approved = context.dispatch(&["trust", id]);
        assert_eq!(approved.status, 0, "{approved:?}");
    }
    for (id, said) in [
        ("ring-a", "ring-b"),
        ("ring-b", "ring-a"),
        ("lonely", "needs `weather`, which is not installed"),
        ("linked", "linked/more.ts is a symbolic link"),
        ("native", "native/addon.node is a native addon"),
        ("large", "large has more than 8 MB"),
        ("typo", "index.ts:2:"),
        ("throws", "not today at index.ts:3"),
    ] {
        let line = &lines(&context, id)[0];
        assert!(["failed", "skipped"].contains(&line["state"].as_str().unwrap()), "{line}");
        assert!(line["reason"].as_str().unwrap().contains(said), "{said}: {line}");
    }
    let ran = context.dispatch(&["run", "hi"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "hello\n"), "{ran:?}");
    for id in ["linked", "native", "large"] {
        let refused = context.dispatch(&["trust", id]);
        assert_ne!(refused.status, 0, "{refused:?}");
    }
}

#[test]
fn of_two_packages_with_one_id_one_runs_and_the_other_is_shown() {
    let context = TestContext::new();
    for package in ["dispatch-ext-one", "dispatch-ext-two"] {
        let fields = r#","contributes":{"commands":["hi"]}"#;
        context.write_cloned(format!("node_modules/{package}/manifest.json"), manifest("hi", fields));
        context.write_cloned(format!("node_modules/{package}/index.ts"), format!("// {package}\n{GREETS}"));
        let path = context.project().join("node_modules").join(package);
        assert_eq!(context.dispatch(&["trust", path.to_str().unwrap()]).status, 0);
    }
    let found = lines(&context, "hi");
    let states: Vec<&str> = found.iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["active", "shadowed"], "{found:?}");
    assert_eq!(context.dispatch(&["run", "hi"]).stdout, "hello\n");
}

#[test]
fn the_product_starts_with_each_standard_extension_replaced() {
    let listed = TestContext::new().dispatch(&["ext", "list", "--json"]).json();
    let standard = listed.as_array().unwrap().iter().filter(|line| line["tier"] == "standard");
    let ids: Vec<String> = standard.map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert!(ids.len() > 8, "{ids:?}");
    for id in ids {
        let context = TestContext::new();
        write(&context, &id, r#","contributes":{"commands":["hi"]}"#, GREETS);
        let approved = context.dispatch(&["trust", &id]);
        assert!(approved.stdout.contains(&format!("REPLACES the extension `{id}`")), "{approved:?}");
        let found = lines(&context, &id);
        let states: Vec<&str> = found.iter().map(|line| line["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["active", "shadowed"], "{found:?}");
        let answered = context.dispatch(&["--set", "model.provider=rehearsal", "chat", "hello there"]);
        assert!(answered.stdout.contains("You said: \"hello there\""), "{id}: {answered:?}");
        let looked = context.dispatch(&["--set", "model.provider=rehearsal", "doctor", "--json"]);
        assert!(looked.status <= 1, "{id}: {looked:?}");
        assert_eq!(context.dispatch(&["run", "hi"]).stdout, "hello\n", "{id}");
        for line in context.dispatch(&["ext", "list", "--json"]).json().as_array().unwrap() {
            let is_told = line["state"] == "active" || line["reason"].as_str().is_some_and(|reason| !reason.is_empty());
            assert!(is_told, "{id}: {line}");
        }
    }
}
