//! Finds the line of a key in JSON text, for messages about one.
//!
//! Pure.

/// One step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// The line that the value at `path` begins on; the last line that was found on the way there, if it is missing.
pub(super) fn line_of(text: &str, path: &[Step]) -> usize {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0 };
    let mut line = scanner.line();
    for step in path {
        match scanner.enter(step) {
            Some(found) => line = found,
            None => break,
        }
    }
    line
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    fn line(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b':')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Moves to the value of a key or an index of the value here; gives the line of the key or the item.
    fn enter(&mut self, step: &Step) -> Option<usize> {
        let open = self.peek()?;
        self.at += 1;
        let mut index = 0;
        loop {
            let next = self.peek()?;
            if matches!(next, b'}' | b']') {
                return None;
            }
            let line = self.line();
            match (open, step) {
                (b'{', Step::Key(wanted)) => {
                    let key = self.text_here()?;
                    self.peek()?;
                    if key == *wanted {
                        return Some(line);
                    }
                }
                (b'[', Step::Index(wanted)) if index == *wanted => return Some(line),
                (b'[', Step::Index(_)) => {}
                _ => return None,
            }
            self.skip()?;
            index += 1;
        }
    }

    /// The string here, and past it.
    fn text_here(&mut self) -> Option<String> {
        let start = self.at;
        self.skip()?;
        serde_json::from_slice(self.text.get(start..self.at)?).ok()
    }

    /// Past the value here.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    while *self.text.get(self.at)? != b'"' {
                        self.at += if self.text.get(self.at) == Some(&b'\\') { 2 } else { 1 };
                    }
                    self.at += 1;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ => {
                    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']' | b':');
                    while self.text.get(self.at).is_some_and(|byte| !ends(byte)) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_path() {
        let text = "{\n \"a\": {\"x\": 1},\n \"b\": [\n  {\"c\": \"}]\"},\n  {\"c\":\n 2}\n ]\n}";
        let key = |name: &str| Step::Key(name.to_owned());
        assert_eq!(line_of(text, &[]), 1);
        assert_eq!(line_of(text, &[key("a")]), 2);
        assert_eq!(line_of(text, &[key("b")]), 3);
        assert_eq!(line_of(text, &[key("b"), Step::Index(1), key("c")]), 5);
        assert_eq!(line_of(text, &[key("b"), Step::Index(7)]), 3, "as near as can be");
        assert_eq!(line_of("{\"a", &[key("a")]), 1);
    }
}
