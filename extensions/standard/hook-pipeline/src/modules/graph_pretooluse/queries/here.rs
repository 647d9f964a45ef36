//! Takes the texts of here-documents and here-strings out of a command as written.
//!
//! Pure.

/// Texts of one command that are looked at.
const MAX_TEXTS: usize = 16;

/// The body of every `<<WORD` and the word of every `<<<`; expansions are left as they are.
pub(super) fn texts(command: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = command;
    while let Some(at) = rest.find("<<") {
        let after = rest.get(at + 2..).unwrap_or_default();
        if found.len() == MAX_TEXTS {
            break;
        }
        match after.strip_prefix('<') {
            Some(word) => found.push(here_string(word)),
            None => found.extend(here_document(after)),
        }
        rest = after;
    }
    found
}

fn here_string(word: &str) -> &str {
    let word = word.trim_start();
    let quote = word.chars().next().filter(|c| matches!(c, '\'' | '"'));
    match quote {
        Some(quote) => word.get(1..).and_then(|body| body.split(quote).next()).unwrap_or_default(),
        None => word.split_whitespace().next().unwrap_or_default(),
    }
}

fn here_document(after: &str) -> Option<&str> {
    let (line, body) = after.split_once('\n')?;
    let word = line.trim_start_matches('-').trim_start();
    let word = word.split([' ', '\t', ';', '|', '&', '>', ')']).next()?.trim_matches(['"', '\'', '\\']);
    if word.is_empty() {
        return None;
    }
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        if line.trim() == word {
            return body.get(..end);
        }
        end += line.len();
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::texts;

    #[test]
    fn bodies_end_at_their_word() {
        assert_eq!(texts("psql <<EOF\nDELETE FROM t;\nEOF\nls"), ["DELETE FROM t;\n"]);
        assert_eq!(texts("psql <<-'SQL' | cat\n\tSELECT 1;\n\tSQL\n"), ["\tSELECT 1;\n"]);
        assert_eq!(texts("psql <<< 'DROP TABLE x' && ls"), ["DROP TABLE x"]);
        assert_eq!(texts("psql <<EOF\nopen"), ["open"]);
        assert_eq!(texts("echo $((1<<2))"), Vec::<&str>::new());
        assert_eq!(texts("<<"), Vec::<&str>::new());
    }
}
