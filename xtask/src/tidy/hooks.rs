//! A hook that nobody fires is a promise nobody keeps: every descriptor has a call site.

use crate::checks::Check;
use crate::lexer::{Token, tokens};
use crate::source::{RustSource, SourceFile, SourceTree};
use crate::violation::Violation;
use std::fmt;

/// Rule in full. A descriptor is a `const` or `static` whose type is `Event<..>`, `Filter<..>` or
/// `Service<..>` (with or without a path before it) and whose value calls `new(`. Only production
/// code of kernel, platform, extensions and apps counts, for descriptors and for their uses.
///
/// - An event or a filter needs one place that fires it: `&NAME` or `&path::NAME` anywhere except
///   as an argument of a subscription (`on(`, `on_any(`, `filter(`) or as an element of an array
///   (a table of descriptors fires nothing).
/// - A service of an extension needs one `provide(&NAME`; it may have no consumer. A service that
///   the kernel declares is provided by whichever extension is composed; it needs one `service(&NAME`.
///
/// Names are compared without their path, so two descriptors with the same name count as one.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "hooks",
    rule: "Every event and filter descriptor is fired somewhere in production code, and every service is provided, or used by the kernel that declares it.",
    why: "An extension that subscribes to a hook nobody fires fails silently.",
    run: check,
};

const SUBSCRIPTIONS: &[&str] = &["on", "on_any", "filter"];
const LAYERS: &[&str] = &["kernel/", "platform/", "extensions/", "apps/"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum DescriptorKind {
    Event,
    Filter,
    Service,
}

impl fmt::Display for DescriptorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Event => "event",
            Self::Filter => "filter",
            Self::Service => "service",
        })
    }
}

struct Descriptor {
    name: String,
    kind: DescriptorKind,
    place: String,
}

struct Use {
    name: String,
    callee: String,
}

fn check(tree: &SourceTree) -> Vec<Violation> {
    let files: Vec<_> =
        tree.rust().filter(|(file, _)| LAYERS.iter().any(|layer| file.path.starts_with(layer))).collect();
    let uses: Vec<Use> = files.iter().flat_map(|(_, rust)| uses(rust)).collect();
    files
        .iter()
        .flat_map(|(file, rust)| descriptors(file, rust))
        .filter(|descriptor| !uses.iter().any(|found| answers(descriptor, found)))
        .map(dead)
        .collect()
}

fn answers(descriptor: &Descriptor, found: &Use) -> bool {
    let named = found.name == descriptor.name;
    match descriptor.kind {
        DescriptorKind::Service if descriptor.place.starts_with("kernel/") => named && found.callee == "service",
        DescriptorKind::Service => named && found.callee == "provide",
        DescriptorKind::Event | DescriptorKind::Filter => named && !SUBSCRIPTIONS.contains(&found.callee.as_str()),
    }
}

fn dead(descriptor: Descriptor) -> Violation {
    let (missing, hint) = match descriptor.kind {
        DescriptorKind::Service if descriptor.place.starts_with("kernel/") => {
            ("the kernel does not use it", "look it up where the kernel needs it, or delete it")
        }
        DescriptorKind::Event => ("nothing emits it", "emit it where the fact happens, or delete it"),
        DescriptorKind::Filter => ("nothing applies it", "apply it where the value is made, or delete it"),
        DescriptorKind::Service => ("nothing provides it", "provide it in `activate`, or delete it"),
    };
    let message = format!("the {} `{}` is declared but {missing}", descriptor.kind, descriptor.name);
    Violation::new(CHECK.name, descriptor.place, message, hint)
}

fn descriptors(file: &SourceFile, rust: &RustSource) -> Vec<Descriptor> {
    let found = tokens(&rust.production);
    let mut descriptors = Vec::new();
    for (index, token) in found.iter().enumerate() {
        if !matches!(token.text, "const" | "static") {
            continue;
        }
        let (Some(name), Some(colon)) = (found.get(index + 1), found.get(index + 2)) else { continue };
        if !name.is_word() || colon.text != ":" {
            continue;
        }
        if let Some(kind) = descriptor_kind(&found[index + 3..]) {
            descriptors.push(Descriptor { name: name.text.to_owned(), kind, place: file.place(name.offset) });
        }
    }
    descriptors
}

// Reads `path::Event<..> = ..new(` up to the end of the item.
fn descriptor_kind(rest: &[Token<'_>]) -> Option<DescriptorKind> {
    let mut path = rest.iter().take_while(|token| token.is_word() || token.text == "::");
    let type_length = path.by_ref().count();
    let kind = match rest.get(type_length.checked_sub(1)?)?.text {
        "Event" => DescriptorKind::Event,
        "Filter" => DescriptorKind::Filter,
        "Service" => DescriptorKind::Service,
        _ => return None,
    };
    let generic = rest.get(type_length)?.text == "<";
    let item: Vec<_> = rest.iter().take_while(|token| token.text != ";").collect();
    let constructed = item.windows(2).any(|pair| pair[0].text == "new" && pair[1].text == "(");
    (generic && constructed).then_some(kind)
}

// Every `&path::NAME` with the function it is an argument of; an empty callee means none.
fn uses(rust: &RustSource) -> Vec<Use> {
    let found = tokens(&rust.production);
    let mut open: Vec<(&str, &str)> = Vec::new();
    let mut uses = Vec::new();
    for (index, token) in found.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => {
                let before = index.checked_sub(1).and_then(|before| found.get(before));
                open.push((token.text, before.filter(|before| before.is_word()).map_or("", |before| before.text)));
            }
            ")" | "]" | "}" => drop(open.pop()),
            "&" => {
                let (bracket, callee) = open.last().copied().unwrap_or(("", ""));
                if let Some(name) = last_of_path(&found[index + 1..]).filter(|_| bracket != "[") {
                    uses.push(Use {
                        name: name.to_owned(),
                        callee: if bracket == "(" { callee } else { "" }.to_owned(),
                    });
                }
            }
            _ => {}
        }
    }
    uses
}

fn last_of_path<'a>(rest: &[Token<'a>]) -> Option<&'a str> {
    let path = rest.iter().take_while(|token| token.is_word() || token.text == "::");
    path.last().filter(|token| token.is_word()).map(|token| token.text)
}

#[cfg(test)]
mod tests;
