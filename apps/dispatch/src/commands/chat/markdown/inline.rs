//! Spans within a line: code, emphasis, links.
//!
//! Pure.

/// How much is known of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEndKnown {
    /// More may come.
    SoFar,
    /// It ends here.
    LineEnd,
}

/// How text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InlineStyle {
    bold: bool,
    italic: bool,
    faint: bool,
    code: bool,
    underlined: bool,
}

impl InlineStyle {
    const NONE: Self = Self { bold: false, italic: false, faint: false, code: false, underlined: false };
    pub(super) const HEADING: Self = Self { bold: true, underlined: true, ..Self::NONE };
    pub(super) const FAINT: Self = Self { faint: true, ..Self::NONE };
    pub(super) const CODE: Self = Self { code: true, ..Self::NONE };

    pub(super) const fn is_code(self) -> bool {
        self.code
    }

    /// The text with this style around it.
    pub(super) fn wrap(self, text: &str) -> String {
        let set = [(self.bold, "1"), (self.faint, "2"), (self.italic, "3"), (self.underlined, "4"), (self.code, "36")];
        let codes: Vec<&str> = set.into_iter().filter(|(on, _)| *on).map(|(_, code)| code).collect();
        if codes.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", codes.join(";"))
    }
}

/// The beginning of a text that is certain.
pub(super) struct InlineSpans {
    pub(super) text: String,
    /// How many bytes it took.
    pub(super) taken: usize,
    /// The letter that the rest stands behind.
    pub(super) before: char,
}

/// A span that was found.
struct InlineSpan {
    /// How many bytes of the text it takes.
    taken: usize,
    shown: String,
}

/// What is at a character that could begin a span.
enum InlineMatch {
    InlineSpan(InlineSpan),
    /// Nothing: so many bytes stand for themselves.
    Literal(usize),
    /// More of the line must be seen.
    Open,
}

/// Styles as much of a text as is certain.
pub(super) fn spans(text: &str, style: InlineStyle, before: char, certain: LineEndKnown) -> InlineSpans {
    let (mut out, mut at, mut before) = (String::new(), 0, before);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.find(['`', '*', '_', '[', '\\', '~']).unwrap_or(rest.len());
        if plain > 0 {
            out.push_str(&style.wrap(&rest[..plain]));
            before = rest[..plain].chars().next_back().unwrap_or(before);
            at += plain;
            continue;
        }
        match found(rest, style, before, certain) {
            InlineMatch::InlineSpan(span) => {
                out.push_str(&span.shown);
                before = 'a';
                at += span.taken;
            }
            InlineMatch::Literal(count) => {
                out.push_str(&style.wrap(&rest[..count]));
                before = rest[..count].chars().next_back().unwrap_or(before);
                at += count;
            }
            InlineMatch::Open => break,
        }
    }
    InlineSpans { text: out, taken: at, before }
}

fn found(rest: &str, style: InlineStyle, before: char, certain: LineEndKnown) -> InlineMatch {
    match rest.chars().next() {
        Some('`') => code(rest, style, certain),
        Some('[') => link(rest, style, certain),
        Some('\\') => escape(rest, style, certain),
        Some(mark) => emphasis(rest, mark, style, before, certain),
        None => InlineMatch::Literal(rest.len()),
    }
}

/// Nothing was found: for now, or for good.
fn nothing(count: usize, certain: LineEndKnown) -> InlineMatch {
    match certain {
        LineEndKnown::SoFar => InlineMatch::Open,
        LineEndKnown::LineEnd => InlineMatch::Literal(count),
    }
}

fn run_length(text: &str, mark: char) -> usize {
    text.chars().take_while(|character| *character == mark).count()
}

/// Where the code that begins with these ticks ends, before its closing ticks.
enum CodeEnd {
    At(usize),
    Nowhere,
    /// More of the line must be seen.
    Open,
}

fn code_end(rest: &str, ticks: usize, certain: LineEndKnown) -> CodeEnd {
    let mut at = ticks;
    while let Some(next) = rest[at..].find('`').map(|found| at + found) {
        let closing = run_length(&rest[next..], '`');
        // More of the same mark may follow and make it another run.
        if certain == LineEndKnown::SoFar && next + closing == rest.len() {
            return CodeEnd::Open;
        }
        if closing == ticks {
            return CodeEnd::At(next);
        }
        at = next + closing;
    }
    match certain {
        LineEndKnown::SoFar => CodeEnd::Open,
        LineEndKnown::LineEnd => CodeEnd::Nowhere,
    }
}

fn code(rest: &str, style: InlineStyle, certain: LineEndKnown) -> InlineMatch {
    let ticks = run_length(rest, '`');
    match code_end(rest, ticks, certain) {
        CodeEnd::At(end) => {
            let inner = &rest[ticks..end];
            let trimmed = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' ')).unwrap_or(inner);
            InlineMatch::InlineSpan(InlineSpan {
                taken: end + ticks,
                shown: InlineStyle { code: true, ..style }.wrap(trimmed),
            })
        }
        CodeEnd::Nowhere => InlineMatch::Literal(ticks),
        CodeEnd::Open => InlineMatch::Open,
    }
}

fn escape(rest: &str, style: InlineStyle, certain: LineEndKnown) -> InlineMatch {
    match rest.chars().nth(1) {
        Some(next) if next.is_ascii_punctuation() => {
            InlineMatch::InlineSpan(InlineSpan { taken: 2, shown: style.wrap(&next.to_string()) })
        }
        Some(_) => InlineMatch::Literal(1),
        None => nothing(1, certain),
    }
}

fn link(rest: &str, style: InlineStyle, certain: LineEndKnown) -> InlineMatch {
    let Some(close) = rest.find(']') else { return nothing(1, certain) };
    match rest[close + 1..].chars().next() {
        Some('(') => {}
        Some(_) => return InlineMatch::Literal(1),
        None => return nothing(1, certain),
    }
    let Some(end) = rest[close + 2..].find(')').map(|found| close + 2 + found) else { return nothing(1, certain) };
    let (label, address) = (&rest[1..close], &rest[close + 2..end]);
    let label_shown = spans(label, InlineStyle { underlined: true, ..style }, ' ', LineEndKnown::LineEnd).text;
    let behind = match label == address {
        true => String::new(),
        false => InlineStyle::FAINT.wrap(&format!(" ({address})")),
    };
    InlineMatch::InlineSpan(InlineSpan { taken: end + 1, shown: format!("{label_shown}{behind}") })
}

fn emphasis(rest: &str, mark: char, style: InlineStyle, before: char, certain: LineEndKnown) -> InlineMatch {
    let count = run_length(rest, mark);
    if count == rest.len() {
        return nothing(count, certain);
    }
    let opens = rest[count..].chars().next().is_some_and(|next| !next.is_whitespace());
    let inside_word = mark == '_' && before.is_alphanumeric();
    let known = if mark == '~' { count == 2 } else { count <= 3 };
    if !opens || inside_word || !known {
        return InlineMatch::Literal(count);
    }
    let Some(close) = closing(rest, mark, count, certain) else { return nothing(count, certain) };
    let inner = match mark {
        '~' => InlineStyle { faint: true, ..style },
        _ => InlineStyle { bold: style.bold || count >= 2, italic: style.italic || count != 2, ..style },
    };
    let shown = spans(&rest[count..close], inner, ' ', LineEndKnown::LineEnd).text;
    InlineMatch::InlineSpan(InlineSpan { taken: close + count, shown })
}

/// Where the run that ends the emphasis begins.
fn closing(rest: &str, mark: char, count: usize, certain: LineEndKnown) -> Option<usize> {
    let mut at = count;
    while let Some(offset) = rest[at..].find([mark, '`']) {
        let next = at + offset;
        let found = rest[next..].chars().next()?;
        let run = run_length(&rest[next..], found);
        let behind = rest[next + run..].chars().next();
        if found == '`' {
            // Marks within code are no marks.
            at = match code_end(&rest[next..], run, certain) {
                CodeEnd::At(end) => next + end + run,
                CodeEnd::Nowhere => next + run,
                CodeEnd::Open => return None,
            };
            continue;
        }
        let after_text = rest[..next].chars().next_back().is_some_and(|last| !last.is_whitespace());
        let word_ends = mark != '_' || !behind.is_some_and(char::is_alphanumeric);
        if behind.is_none() && certain == LineEndKnown::SoFar {
            return None;
        }
        if run == count && after_text && word_ends {
            return Some(next);
        }
        at = next + run;
    }
    None
}
