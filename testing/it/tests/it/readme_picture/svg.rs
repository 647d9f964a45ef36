//! Draws lines of a terminal as an SVG picture that needs no font or script of its own.

use std::fmt::Write as _;

const COLUMNS: usize = 112;
const CHARACTER_WIDTH: f64 = 8.0;
const LINE_HEIGHT: usize = 19;
const MARGIN: usize = 22;
const TITLE_HEIGHT: usize = 36;

/// One line of the session.
pub(super) enum TerminalLine {
    /// What the user types behind the prompt.
    Typed(String),
    /// What a program prints.
    Printed(String),
}

/// The whole picture. Long lines are broken as a terminal of `COLUMNS` columns breaks them.
pub(super) fn draw(lines: &[TerminalLine]) -> String {
    let rows: Vec<(&'static str, String)> = lines.iter().flat_map(rows).collect();
    let width = (COLUMNS as f64 * CHARACTER_WIDTH) as usize + 2 * MARGIN;
    let height = TITLE_HEIGHT + rows.len() * LINE_HEIGHT + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"A terminal session: dispatch init, then a forced push is denied, then why\">\n{STYLE}\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#161b22\"/>\n"
    );
    for (index, color) in ["#ff5f57", "#febc2e", "#28c840"].into_iter().enumerate() {
        let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"18\" r=\"6\" fill=\"{color}\"/>", MARGIN + index * 20);
    }
    for (index, (class, text)) in rows.iter().enumerate() {
        let y = TITLE_HEIGHT + (index + 1) * LINE_HEIGHT - 4;
        if !text.is_empty() {
            let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\" class=\"{class}\">{}</text>", escaped(text));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = "\
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }
.typed { fill: #7ee787; font-weight: 600; }
.printed { fill: #c9d1d9; }
.denied { fill: #ff7b72; }
.faint { fill: #8b949e; }
</style>
";

fn rows(line: &TerminalLine) -> Vec<(&'static str, String)> {
    match line {
        TerminalLine::Typed(text) => broken(&format!("$ {text}")).into_iter().map(|row| ("typed", row)).collect(),
        TerminalLine::Printed(text) => {
            let class = class(text);
            broken(text).into_iter().map(|row| (class, row)).collect()
        }
    }
}

fn class(text: &str) -> &'static str {
    if text.contains("deny") && !text.starts_with("modules") {
        "denied"
    } else if text.starts_with("wrote") || text.starts_with("run ") || text.starts_with("session ") {
        "faint"
    } else {
        "printed"
    }
}

fn broken(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(COLUMNS).map(|row| row.iter().collect()).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
