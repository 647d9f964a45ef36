//! What an expression of a code stands for, as far as it is made of constants.
//!
//! Pure.

use std::collections::BTreeMap;

use super::lex::CodeToken;

/// A value, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeValue {
    Text(String),
    List(Vec<Option<String>>),
    Unknown,
}

impl CodeValue {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Option<String>]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The most that expressions may nest.
const MAX_DEPTH: u32 = 24;
const MAX_NAMES: usize = 128;

/// Follows names and expressions through a code.
pub(super) struct Evaluator<'t> {
    pub(super) tokens: &'t [CodeToken],
    names: BTreeMap<&'t str, CodeValue>,
    home: Option<&'t str>,
}

impl<'t> Evaluator<'t> {
    pub(super) fn new(tokens: &'t [CodeToken], home: Option<&'t str>) -> Self {
        Self { tokens, names: BTreeMap::new(), home }
    }

    /// Keeps the value of `name = expression` at this place.
    pub(super) fn note_assignment(&mut self, at: usize) {
        let Some(CodeToken::Name(name)) = self.tokens.get(at) else {
            return;
        };
        let equals = |at: usize| self.sign(at) == Some('=');
        if equals(at + 1) && !equals(at + 2) && self.names.len() < MAX_NAMES {
            let (value, _) = self.value(at + 2, 0);
            self.names.insert(name, value);
        }
    }

    /// What a name was given.
    pub(super) fn named(&self, name: &str) -> Option<CodeValue> {
        self.names.get(name).cloned()
    }

    /// The value of the call whose closing parenthesis stands right before `at`.
    pub(super) fn value_before(&self, at: usize) -> Option<CodeValue> {
        let mut depth = 0_usize;
        let mut open = at;
        while open > 0 {
            open -= 1;
            match self.sign(open) {
                Some(')') => depth += 1,
                Some('(') => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        let named =
                            open.checked_sub(1).filter(|at| matches!(self.tokens.get(*at), Some(CodeToken::Name(_))));
                        // Without a name it is a group: `(a / b).unlink()`.
                        let start = named.unwrap_or(open);
                        return Some(self.primary(start, 0).0);
                    }
                }
                _ if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    fn sign(&self, at: usize) -> Option<char> {
        match self.tokens.get(at) {
            Some(CodeToken::Sign(c)) => Some(*c),
            _ => None,
        }
    }

    /// The arguments that begin at `at`, up to what closes them; `separator` is a blank in Lisp.
    pub(super) fn arguments(&self, mut at: usize, separator: Option<char>) -> Vec<CodeValue> {
        let mut found = Vec::new();
        while at < self.tokens.len() && found.len() < 32 {
            if matches!(self.sign(at), Some(')' | ']' | '}' | ';' | '\n'))
                && !(self.sign(at) == Some('\n') && found.is_empty())
            {
                break;
            }
            if self.sign(at) == Some('\n') {
                at += 1;
                continue;
            }
            let (value, next) = self.value(at, 0);
            let next = next.max(at + 1);
            let ended =
                separator.is_some() || matches!(self.sign(next), Some(',' | ')' | ']' | '}' | ';' | '\n') | None);
            found.push(if ended { value } else { CodeValue::Unknown });
            at = if separator.is_some() { next } else { self.skip(next) };
            if self.sign(at) == Some(',') {
                at += 1;
                while self.sign(at) == Some('\n') {
                    at += 1;
                }
            }
        }
        found
    }

    /// The next `,` or closing bracket on the same level.
    fn skip(&self, mut at: usize) -> usize {
        let mut depth = 0_usize;
        while at < self.tokens.len() {
            match self.sign(at) {
                Some('(' | '[' | '{') => depth += 1,
                Some(')' | ']' | '}') if depth == 0 => break,
                Some(')' | ']' | '}') => depth -= 1,
                Some(',' | ';' | '\n') if depth == 0 => break,
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The value of the expression at `at`, and where it ends.
    fn value(&self, at: usize, depth: u32) -> (CodeValue, usize) {
        if depth > MAX_DEPTH {
            return (CodeValue::Unknown, at + 1);
        }
        let (mut value, mut next) = self.primary(at, depth);
        loop {
            match (self.sign(next), self.tokens.get(next + 1)) {
                (Some('+'), _) | (Some('.'), Some(CodeToken::Text(_))) => {
                    let (right, after) = self.primary(next + 1, depth + 1);
                    value = match (value.into_text(), right.into_text()) {
                        (Some(left), Some(right)) => CodeValue::Text(left + &right),
                        _ => CodeValue::Unknown,
                    };
                    next = after.max(next + 2);
                }
                (Some('/'), Some(CodeToken::Text(part))) => {
                    value =
                        value.into_text().map_or(CodeValue::Unknown, |left| CodeValue::Text(format!("{left}/{part}")));
                    next += 2;
                }
                (Some('.'), Some(CodeToken::Name(method))) if self.sign(next + 2) == Some('(') => {
                    let arguments = self.arguments(next + 3, None);
                    value = match (method.as_str(), self.home) {
                        ("homedir" | "home_dir", Some(home)) => CodeValue::Text(home.to_owned()),
                        _ => method_value(value, method, &arguments),
                    };
                    next = self.after_call(next + 2);
                }
                _ => return (value, next),
            }
        }
    }

    /// Behind the parenthesis that closes the one at `open`.
    fn after_call(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        let mut at = open;
        while at < self.tokens.len() {
            match self.sign(at) {
                Some('(' | '[' | '{') => depth += 1,
                Some(')' | ']' | '}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        at
    }

    fn primary(&self, at: usize, depth: u32) -> (CodeValue, usize) {
        match self.tokens.get(at) {
            Some(CodeToken::Text(text)) => {
                // Texts side by side are one.
                let mut all = text.clone();
                let mut next = at + 1;
                while let Some(CodeToken::Text(more)) = self.tokens.get(next) {
                    all.push_str(more);
                    next += 1;
                }
                (CodeValue::Text(all), next)
            }
            Some(CodeToken::Sign('[' | '(')) => self.list(at, depth),
            Some(CodeToken::Sign('*' | '&' | '\\' | '@')) => self.primary(at + 1, depth + 1),
            Some(CodeToken::Name(name))
                if matches!(name.as_str(), "new" | "await" | "String") && self.sign(at + 1) != Some('(') =>
            {
                self.value(at + 1, depth + 1)
            }
            Some(CodeToken::Name(name)) => self.name(name, at, depth),
            _ => (CodeValue::Unknown, at + 1),
        }
    }

    fn list(&self, at: usize, depth: u32) -> (CodeValue, usize) {
        let grouped = self.sign(at) == Some('(');
        let end = self.after_call(at);
        if depth > MAX_DEPTH {
            return (CodeValue::Unknown, end);
        }
        let mut parts = self.arguments(at + 1, None);
        if grouped && parts.len() == 1 {
            return (parts.pop().unwrap_or(CodeValue::Unknown), end);
        }
        (CodeValue::List(parts.into_iter().map(CodeValue::into_text).collect()), end)
    }

    fn name(&self, name: &str, at: usize, depth: u32) -> (CodeValue, usize) {
        let home = || self.home.map_or(CodeValue::Unknown, |home| CodeValue::Text(home.to_owned()));
        let last = name.rsplit(['.', ':']).next().unwrap_or(name);
        if self.sign(at + 1) == Some('(') {
            let end = self.after_call(at + 1);
            let is_name =
                |at: usize, name: &str| matches!(self.tokens.get(at), Some(CodeToken::Name(found)) if found == name);
            if last == "map" && is_name(at + 2, "chr") && self.sign(at + 4) == Some('[') {
                return (self.letters(at + 5), end);
            }
            if matches!(last, "bytes" | "bytearray") && self.sign(at + 2) == Some('[') {
                return (self.letters(at + 3), end);
            }
            if matches!(last, "chr" | "fromCharCode" | "fromCodePoint") {
                return (self.letters(at + 2), end);
            }
            let arguments = if depth > MAX_DEPTH { Vec::new() } else { self.arguments(at + 2, None) };
            return (self.call_value(last, name, &arguments), end);
        }
        let indexed = matches!(last, "environ" | "ENV" | "env" | "$ENV" | "$_SERVER" | "$_ENV");
        if indexed && matches!(self.sign(at + 1), Some('[' | '{')) {
            let key = match self.tokens.get(at + 2) {
                Some(CodeToken::Text(key) | CodeToken::Name(key)) => key.as_str(),
                _ => "",
            };
            let value = if matches!(key, "HOME" | "USERPROFILE") { home() } else { CodeValue::Unknown };
            return (value, at + 4);
        }
        let value = match name {
            "process.env.HOME" | "Dir.home" | "os.home" => home(),
            "os.sep" | "path.sep" | "File::SEPARATOR" | "DIRECTORY_SEPARATOR" => CodeValue::Text("/".to_owned()),
            _ => self.named(name).unwrap_or(CodeValue::Unknown),
        };
        (value, at + 1)
    }

    /// The text of `chr(47)` and `String.fromCharCode(114, 109)`.
    fn letters(&self, mut at: usize) -> CodeValue {
        let mut text = String::new();
        loop {
            let Some(CodeToken::Number(number)) = self.tokens.get(at) else {
                return CodeValue::Unknown;
            };
            let value = match number.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => number.parse().ok(),
            };
            match value.and_then(char::from_u32) {
                Some(letter) => text.push(letter),
                None => return CodeValue::Unknown,
            }
            match self.sign(at + 1) {
                Some(',') => at += 2,
                Some(')' | ']') => return CodeValue::Text(text),
                _ => return CodeValue::Unknown,
            }
        }
    }

    fn call_value(&self, last: &str, name: &str, arguments: &[CodeValue]) -> CodeValue {
        let first = arguments.first().and_then(CodeValue::text);
        let home = || self.home.map_or(CodeValue::Unknown, |home| CodeValue::Text(home.to_owned()));
        let text = |text: &str| CodeValue::Text(text.to_owned());
        match last {
            "expanduser" | "expand_path" => match (first.and_then(|path| path.strip_prefix('~')), self.home) {
                (Some(rest), Some(home)) => CodeValue::Text(format!("{home}{rest}")),
                (None, _) => first.map_or(CodeValue::Unknown, text),
                _ => CodeValue::Unknown,
            },
            "homedir" | "home" | "home_dir" => home(),
            "getenv" | "get" | "fetch" if matches!(first, Some("HOME" | "USERPROFILE")) => home(),
            "glob" | "rglob" | "iglob" | "globSync" => first.map_or(CodeValue::Unknown, text),
            "Path" | "PurePath" | "PosixPath" | "str" | "String" | "abspath" | "realpath" | "resolve" | "normalize"
            | "Pathname" | "fspath" | "quote" => first.map_or(CodeValue::Unknown, text),
            "join" if name.contains("path") || name.starts_with("File") => joined_path(arguments),
            "b64decode" | "atob" | "base64_decode" | "decode64" | "decode_base64" | "strict_decode64" => {
                first.and_then(crate::shell::output::decode_base64).map_or(CodeValue::Unknown, CodeValue::Text)
            }
            _ => CodeValue::Unknown,
        }
    }
}

fn joined_path(arguments: &[CodeValue]) -> CodeValue {
    let parts: Option<Vec<&str>> = arguments.iter().map(CodeValue::text).collect();
    let Some(parts) = parts else {
        return CodeValue::Unknown;
    };
    let joined = parts.iter().fold(String::new(), |path, part| match (path.is_empty(), part.starts_with('/')) {
        (true, _) | (_, true) => (*part).to_owned(),
        _ => format!("{}/{part}", path.trim_end_matches('/')),
    });
    CodeValue::Text(joined)
}

fn method_value(value: CodeValue, method: &str, arguments: &[CodeValue]) -> CodeValue {
    let first = arguments.first();
    match (method, value) {
        // Letters that stand in a row already.
        ("join", CodeValue::Text(separator)) if separator.is_empty() && first.and_then(CodeValue::text).is_some() => {
            first.cloned().unwrap_or(CodeValue::Unknown)
        }
        ("join", CodeValue::Text(separator)) => {
            let parts: Option<Vec<String>> =
                first.and_then(CodeValue::list).and_then(|list| list.iter().cloned().collect());
            parts.map_or(CodeValue::Unknown, |parts| CodeValue::Text(parts.join(&separator)))
        }
        ("join", CodeValue::List(list)) => {
            let separator = first.and_then(CodeValue::text).unwrap_or(" ");
            let parts: Option<Vec<String>> = list.into_iter().collect();
            parts.map_or(CodeValue::Unknown, |parts| CodeValue::Text(parts.join(separator)))
        }
        ("split", CodeValue::Text(text)) => {
            CodeValue::List(text.split_whitespace().map(|word| Some(word.to_owned())).collect())
        }
        (
            "decode" | "encode" | "strip" | "toString" | "resolve" | "absolute" | "expanduser" | "to_s" | "trim",
            value,
        ) => value,
        ("concat", CodeValue::Text(text)) => {
            first.and_then(CodeValue::text).map_or(CodeValue::Unknown, |more| CodeValue::Text(text + more))
        }
        ("replace", CodeValue::Text(text)) => {
            match (first.and_then(CodeValue::text), arguments.get(1).and_then(CodeValue::text)) {
                (Some(from), Some(to)) if !from.is_empty() => CodeValue::Text(text.replace(from, to)),
                _ => CodeValue::Unknown,
            }
        }
        _ => CodeValue::Unknown,
    }
}
