//! Planted descriptors, dead and alive.

use super::*;

const EVENT: &str = "pub const TURN_SEALED: Event<Sealed> = Event::new(\"kernel/turn.sealed\");";
const FILTER: &str =
    "pub const TOOL_BEFORE: hooks::Filter<Call> =\n    hooks::Filter::new(\"kernel/tool.before\").fail_closed();";
const SERVICE: &str = "pub static LSP: Service<dyn Lsp> = Service::new(\"lsp/client\");";

fn found(declaration: &str, uses: &[(&str, &str)]) -> Vec<Violation> {
    let mut files = vec![("extensions/standard/x/src/contract.rs", declaration)];
    files.extend_from_slice(uses);
    check(&SourceTree::of(&files))
}

const CALLER: &str = "kernel/kernel/src/runtime.rs";

#[test]
fn a_descriptor_with_a_call_site_is_alive() {
    let table = [
        (EVENT, "fn f() { bus.emit(&TURN_SEALED, sealed) }"),
        (EVENT, "fn f() { bus.emit(&hooks::turn::TURN_SEALED, sealed) }"),
        (EVENT, "fn f() { self.publish(scope, &TURN_SEALED) }"),
        (EVENT, "fn f() { let event = &TURN_SEALED; }"),
        (FILTER, "fn f() { bus.apply(&TOOL_BEFORE, call) }"),
        (FILTER, "fn f() { filter_value(\n    &TOOL_BEFORE,\n    call) }"),
        (SERVICE, "fn f() { host.provide(&LSP, client) }"),
    ];
    for (declaration, text) in table {
        assert_eq!(found(declaration, &[(CALLER, text)]), [], "{text}");
    }
}

#[test]
fn a_dead_descriptor_is_reported() {
    let table = [
        (EVENT, CALLER, ""),
        (EVENT, CALLER, "use x::contract::TURN_SEALED;"),
        (EVENT, CALLER, "fn f() { host.on(&TURN_SEALED, handler) }"),
        (EVENT, CALLER, "fn f() { host.on_any(&x::TURN_SEALED, handler) }"),
        (EVENT, CALLER, "const ALL: &[&dyn Descriptor] = &[&TURN_SEALED];"),
        (EVENT, CALLER, "// bus.emit(&TURN_SEALED)"),
        (EVENT, CALLER, "#[cfg(test)] mod tests { fn f() { bus.emit(&TURN_SEALED, x) } }"),
        (EVENT, "kernel/kernel/tests/it.rs", "fn f() { bus.emit(&TURN_SEALED, x) }"),
        (EVENT, "testing/support/src/lib.rs", "fn f() { bus.emit(&TURN_SEALED, x) }"),
        (EVENT, CALLER, "fn f() { bus.emit(&TURN_SEALED_LATE, x) }"),
        (FILTER, CALLER, "fn f() { host.filter(&TOOL_BEFORE, Priority(3), handler) }"),
        (SERVICE, CALLER, "fn f() { host.service(&LSP) }"),
    ];
    for (declaration, path, text) in table {
        let violations = found(declaration, &[(path, text)]);
        assert_eq!(violations.len(), 1, "{path}: {text}: {violations:?}");
        assert!(violations[0].place.starts_with("extensions/standard/x/src/contract.rs:"));
    }
}

#[test]
fn a_service_of_the_kernel_is_alive_when_the_kernel_uses_it() {
    let declared = ("kernel/contracts/src/host.rs", SERVICE);
    let found = |text| check(&SourceTree::of(&[declared, (CALLER, text)])).len();
    assert_eq!(found("fn f() { self.service(&LSP) }"), 0);
    assert_eq!(found("fn f() { host.provide(&LSP, client) }"), 1);
    assert_eq!(found(""), 1);
}

#[test]
fn the_message_names_the_hook_and_what_is_missing() {
    let messages: Vec<_> = [EVENT, FILTER, SERVICE]
        .into_iter()
        .flat_map(|declaration| found(declaration, &[]))
        .map(|violation| violation.message)
        .collect();
    assert_eq!(
        messages,
        [
            "the event `TURN_SEALED` is declared but nothing emits it",
            "the filter `TOOL_BEFORE` is declared but nothing applies it",
            "the service `LSP` is declared but nothing provides it",
        ]
    );
}

#[test]
fn other_constants_are_no_descriptors() {
    for text in [
        "const LIMIT: usize = 3;",
        "const NAMES: &[&str] = &[];",
        "const KIND: Event = Event::Started;",
        "const fn event() -> Event<u8> { Event::new(\"a/b\") }",
        "#[cfg(test)] const PROBE: Event<u8> = Event::new(\"a/b\");",
    ] {
        assert_eq!(found(text, &[]), [], "{text}");
    }
}
