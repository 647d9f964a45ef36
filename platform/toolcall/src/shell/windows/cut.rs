//! Cuts a text for PowerShell or `cmd` into statements and words.
//!
//! Pure.

use std::collections::BTreeMap;

/// One statement: its words with their quotes and variables resolved, and where its output goes.
#[derive(Debug, Default)]
pub(super) struct WindowsStatement {
    pub(super) words: Vec<String>,
    pub(super) outputs: Vec<String>,
    /// Whether a group in parentheses follows.
    pub(super) opens_group: bool,
}

impl WindowsStatement {
    /// The command in small letters.
    pub(super) fn name(&self) -> Option<String> {
        let first = self.words.first()?.to_ascii_lowercase();
        Some(first.rsplit(['/', '\\']).next().unwrap_or(&first).to_owned())
    }

    /// The words that are neither parameters nor their values.
    pub(super) fn operands(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut words = self.words.iter().skip(1);
        while let Some(word) = words.next() {
            let lower = word.to_ascii_lowercase();
            let switch = lower.starts_with('/')
                && lower.len() == 2
                && lower.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic);
            if lower.starts_with('-') {
                if takes_value(&lower) {
                    words.next();
                }
            } else if !switch {
                found.push(word.as_str());
            }
        }
        found
    }

    /// The values of parameters, which may be cut short.
    pub(super) fn values(&self, names: &[&str]) -> Vec<&str> {
        let given = |word: &str| {
            let word = word.to_ascii_lowercase();
            word.len() > 2 && names.iter().any(|name| name.starts_with(&word))
        };
        self.words.windows(2).filter(|pair| given(&pair[0])).map(|pair| pair[1].as_str()).collect()
    }
}

fn takes_value(parameter: &str) -> bool {
    const WITH_VALUE: &[&str] = &[
        "-path",
        "-literalpath",
        "-filepath",
        "-destination",
        "-newname",
        "-value",
        "-argumentlist",
        "-args",
        "-include",
        "-exclude",
        "-filter",
        "-encoding",
        "-itemtype",
        "-name",
        "-uri",
        "-outfile",
        "-erroraction",
        "-ea",
        "-depth",
    ];
    parameter.len() > 2 && WITH_VALUE.iter().any(|name| name.starts_with(parameter))
}

/// The statements of a text; assignments are kept in `variables`.
pub(super) fn statements(text: &str, variables: &mut BTreeMap<String, String>) -> Vec<WindowsStatement> {
    let text = &joined(text);
    let mut cutter =
        StatementCutter { found: Vec::new(), current: WindowsStatement::default(), word: None, redirects: false };
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let body: String = chars.by_ref().take_while(|inner| *inner != c).collect();
                let body = if c == '"' { expand(&body, variables) } else { body };
                cutter.word.get_or_insert_default().push_str(&body);
            }
            '`' | '^' => cutter.word.get_or_insert_default().extend(chars.next()),
            '$' => {
                let mut name = String::new();
                while let Some(part) =
                    chars.peek().copied().filter(|part| part.is_alphanumeric() || matches!(part, '_' | ':' | '{' | '}'))
                {
                    name.push(part);
                    chars.next();
                }
                let key = name.trim_matches(['{', '}']).to_ascii_lowercase();
                let value = variables.get(&key).cloned().unwrap_or_else(|| format!("${name}"));
                cutter.word.get_or_insert_default().push_str(&value);
            }
            ';' | '|' | '\n' | '&' | '{' | '}' | ')' => cutter.end_statement(variables),
            '(' => {
                cutter.end_word();
                cutter.current.opens_group = true;
                cutter.end_statement(variables);
            }
            '>' => {
                cutter.end_word();
                cutter.redirects = true;
            }
            c if c.is_whitespace() => cutter.end_word(),
            '=' if cutter.current.words.is_empty() && text.contains('$') => {
                let name = cutter.word.take().unwrap_or_default();
                cutter.current.words.push(format!("{name}="));
            }
            c => cutter.word.get_or_insert_default().push(c),
        }
    }
    cutter.end_statement(variables);
    cutter.found
}

/// The text with sums of texts done (`'Remove'+'-Item'`), and without parentheses around the name of a program.
fn joined(text: &str) -> String {
    const SUMS: &[&str] = &["'+'", "' + '", "\"+\"", "\" + \""];
    let mut text = SUMS.iter().fold(text.to_owned(), |text, sum| text.replace(sum, ""));
    // `$([char]114)` is a letter.
    while let Some((before, rest)) = text.split_once("$([char]")
        && let Some((number, after)) = rest.split_once(')')
        && let Some(letter) = number.trim().parse().ok().and_then(char::from_u32)
    {
        text = format!("{before}{letter}{after}");
    }
    for (open, close) in [("& ('", "')"), ("&('", "')"), ("& (\"", "\")"), ("&(\"", "\")")] {
        if let Some((before, rest)) = text.split_once(open)
            && let Some((name, after)) = rest.split_once(close)
        {
            let quote = &close[..1];
            text = format!("{before}& {quote}{name}{quote}{after}");
        }
    }
    text
}

/// The variables of `cmd` and PowerShell inside double quotes.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    variables.iter().fold(text.to_owned(), |text, (name, value)| {
        let text = text.replace(&format!("${name}"), value);
        match name.strip_prefix("env:") {
            Some(name) => text.replace(&format!("%{}%", name.to_ascii_uppercase()), value),
            None => text,
        }
    })
}

struct StatementCutter {
    found: Vec<WindowsStatement>,
    current: WindowsStatement,
    word: Option<String>,
    /// Whether the next word is where the output goes.
    redirects: bool,
}

impl StatementCutter {
    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        if std::mem::take(&mut self.redirects) {
            self.current.outputs.push(word);
        } else if !matches!(word.as_str(), "." | "@") || !self.current.words.is_empty() {
            self.current.words.push(word);
        }
    }

    fn end_statement(&mut self, variables: &mut BTreeMap<String, String>) {
        self.end_word();
        let mut statement = std::mem::take(&mut self.current);
        let home = variables.get("~").cloned().unwrap_or_default();
        for word in &mut statement.words {
            if word == "~" || word.starts_with("~/") || word.starts_with("~\\") {
                *word = word.replacen('~', &home, 1);
            }
            if word.starts_with('%') || word.contains('%') {
                *word = expand(&word.replace("%UserProfile%", "%USERPROFILE%"), variables);
            }
        }
        let assigned = match statement.words.as_slice() {
            [name, value] if name.starts_with('$') && name.ends_with('=') => Some((name.clone(), value.clone())),
            [name, sign, value] if name.starts_with('$') && sign == "=" => Some((name.clone(), value.clone())),
            _ => None,
        };
        match assigned {
            Some((name, value)) => {
                variables.insert(name.trim_matches(['$', '=']).to_ascii_lowercase(), value);
            }
            None if !statement.words.is_empty() || !statement.outputs.is_empty() => self.found.push(statement),
            None => {}
        }
    }
}
