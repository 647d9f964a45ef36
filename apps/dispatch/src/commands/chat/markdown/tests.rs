//! What streams in is styled, and the same however it is cut.

use super::*;

/// The text with its escapes as `<codes>` and `</>`, neighbours of one style joined.
fn readable(shown: &str) -> String {
    let mut runs: Vec<(String, String)> = Vec::new();
    let mut style = String::new();
    let mut rest = shown;
    while let Some(character) = rest.chars().next() {
        if let Some((codes, behind)) = rest.strip_prefix("\u{1b}[").and_then(|behind| behind.split_once('m')) {
            style = if codes == "0" { String::new() } else { codes.to_owned() };
            rest = behind;
            continue;
        }
        match runs.last_mut() {
            Some((known, text)) if *known == style => text.push(character),
            _ => runs.push((style.clone(), character.to_string())),
        }
        rest = &rest[character.len_utf8()..];
    }
    let run = |(style, text): (String, String)| if style.is_empty() { text } else { format!("<{style}>{text}</>") };
    runs.into_iter().map(run).collect()
}

fn rendered<'a>(look: TextLook, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut markdown = Markdown::new(look);
    let mut out: String = pieces.into_iter().map(|piece| markdown.push(piece)).collect();
    out.push_str(&markdown.finish());
    out
}

const CASES: [(&str, &str); 31] = [
    ("", ""),
    ("plain", "plain"),
    ("# Title\ntext", "<1;4>Title</>\ntext"),
    ("#no title", "#no title"),
    ("a **bold** word", "a <1>bold</> word"),
    ("an *italic* one", "an <3>italic</> one"),
    ("***both***", "<1;3>both</>"),
    ("**a *b* c**", "<1>a </><1;3>b</><1> c</>"),
    ("**a `*` b**", "<1>a </><1;36>*</><1> b</>"),
    ("call `x * y` now", "call <36>x * y</> now"),
    ("``a ` b``", "<36>a ` b</>"),
    ("2 * 3 * 4", "2 * 3 * 4"),
    ("snake_case_name", "snake_case_name"),
    ("an _em_ word", "an <3>em</> word"),
    ("open **end\nnext", "open **end\nnext"),
    ("open `end", "open `end"),
    ("- one\n- two", "• one\n• two"),
    ("  * deep", "  • deep"),
    ("-5 degrees", "-5 degrees"),
    ("1. first", "1. first"),
    ("> said", "<2>│ said</>"),
    ("---\n", "<2>────────────────────────</>\n"),
    ("```rust\nlet a = *b;\n```\nend", "<2>```rust</>\n  <36>let a = *b;</>\n<2>```</>\nend"),
    ("```\n`` x\n```", "<2>```</>\n  <36>`` x</>\n<2>```</>"),
    ("```\n# no title\n\n", "<2>```</>\n  <36># no title</>\n\n"),
    ("see [docs](https://a.b)", "see <4>docs</><2> (https://a.b)</>"),
    ("[not] a link", "[not] a link"),
    ("\\*literal\\*", "*literal*"),
    ("~~gone~~", "<2>gone</>"),
    ("a\r\nb", "a\nb"),
    ("\u{1b}[2Jx\u{202e}y", "\u{fffd}[2Jx\u{fffd}y"),
];

#[test]
fn every_form_is_styled_and_cutting_changes_nothing() {
    for (source, expected) in CASES {
        assert_eq!(readable(&rendered(TextLook::Styled, [source])), expected, "{source:?}");
        let letters = source.char_indices().map(|(at, letter)| &source[at..at + letter.len_utf8()]);
        assert_eq!(readable(&rendered(TextLook::Styled, letters)), expected, "{source:?} letter by letter");
    }
}

#[test]
fn any_text_looks_the_same_however_it_is_cut() {
    let alphabet: Vec<char> = "ab *_`~[]()>#-1.\\\n\n".chars().collect();
    let mut seed: usize = 7;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..20_000 {
        let text: String = (0..next(24)).map(|_| alphabet[next(alphabet.len())]).collect();
        let letters = text.char_indices().map(|(at, letter)| &text[at..at + letter.len_utf8()]);
        let cut = readable(&rendered(TextLook::Styled, letters));
        assert_eq!(cut, readable(&rendered(TextLook::Styled, [text.as_str()])), "{text:?}");
    }
}

#[test]
fn text_is_not_held_back_longer_than_needed() {
    let mut markdown = Markdown::new(TextLook::Styled);
    assert_eq!(markdown.push("he"), "he");
    assert_eq!(markdown.push("llo **wo"), "llo ");
    assert_eq!(readable(&markdown.push("rld** a")), "<1>world</> a");
    assert_eq!(markdown.push("\n```\n"), "\n\u{1b}[2m```\u{1b}[0m\n");
    assert_eq!(readable(&markdown.push("code so far")), "  <36>code so far</>");
}

#[test]
fn a_span_without_an_end_does_not_hold_the_text_forever() {
    let long = format!("`{}", "a".repeat(3 * HELD_CHARS));
    let mut markdown = Markdown::new(TextLook::Styled);
    assert_eq!(markdown.push(&long), long);
}

#[test]
fn without_styles_the_source_stays() {
    let source = "# a **b**\n`c`\u{7}\n";
    assert_eq!(rendered(TextLook::Source, [source]), source);
    assert_eq!(rendered(TextLook::Plain, [source]), "# a **b**\n`c`\u{fffd}\n");
}
