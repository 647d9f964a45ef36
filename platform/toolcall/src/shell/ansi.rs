//! Decodes the escapes of `$'...'`.
//!
//! Pure.

/// The text between `$'` and `'`, decoded; `None` if an escape is not a valid character.
pub(super) fn decode(body: &str) -> Option<String> {
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let escape = chars.next()?;
        let decoded = match escape {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => escape,
            'x' => number(&mut chars, None, 16, 2)?,
            'u' => number(&mut chars, None, 16, 4)?,
            'U' => number(&mut chars, None, 16, 8)?,
            '0'..='7' => number(&mut chars, Some(escape), 8, 2)?,
            'c' => char::from_u32(u32::from(chars.next()?) & 0x1f)?,
            other => {
                out.push('\\');
                other
            }
        };
        // Bash ends the word at a NUL; what follows is lost, which only an attacker would write.
        if decoded == '\0' {
            return None;
        }
        out.push(decoded);
    }
    Some(out)
}

fn number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    first: Option<char>,
    radix: u32,
    max_digits: usize,
) -> Option<char> {
    let mut value = first.and_then(|c| c.to_digit(radix)).unwrap_or(0);
    let mut digits = 0;
    while digits < max_digits
        && let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix))
    {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        digits += 1;
        chars.next();
    }
    if digits == 0 && first.is_none() {
        return None;
    }
    // `\x` and octal escapes name bytes; above ASCII they need not form a character.
    let byte_escape = max_digits == 2;
    if byte_escape && value > 0x7f { None } else { char::from_u32(value) }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_become_characters() {
        let table = [
            (r"a\nb", Some("a\nb")),
            (r"\x72\x6d", Some("rm")),
            (r"\162\155", Some("rm")),
            (r"\u0072m", Some("rm")),
            (r"it\'s", Some("it's")),
            (r"\q", Some("\\q")),
            (r"\x", None),
            (r"\x00", None),
            (r"\xff", None),
            (r"tail\", None),
        ];
        for (body, expected) in table {
            assert_eq!(decode(body).as_deref(), expected, "{body}");
        }
    }
}
