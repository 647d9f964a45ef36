//! Judges whether a value that was given a secret's name is one, by its shape.
//!
//! Pure.

use crate::assignment::{AssignmentForm, KeyClass};

const SHORTEST_QUOTED_PASSWORD: usize = 6;
const SHORTEST: usize = 8;
const SHORTEST_STRONG: usize = 16;
const SHORTEST_SCRAMBLED: usize = 20;
const SHORTEST_ENVIRONMENT_WORD: usize = 12;
/// No English word in common use is this long.
const SHORTEST_RUN_TOGETHER: usize = 18;
/// From this length on, the letters of a placeholder word may stand there by chance.
const LONGEST_PLACEHOLDER: usize = 32;

const PLACEHOLDERS: [&[u8]; 17] = [
    b"your",
    b"example",
    b"placeholder",
    b"changeme",
    b"change-me",
    b"change_me",
    b"replace",
    b"insert",
    b"dummy",
    b"sample",
    b"redacted",
    b"xxxx",
    b"todo",
    b"fake",
    b"mock",
    b"...",
    b"****",
];

/// Whether `value`, assigned to a key of this class in this form, is a secret.
pub(crate) fn is_secret(value: &[u8], class: KeyClass, form: AssignmentForm) -> bool {
    // The cheap test first: most values of such names have no shape at all.
    has_shape(value, class, form)
        && !value.iter().any(u8::is_ascii_whitespace)
        && !is_reference(value)
        && !is_mask(value)
        && !contains(value, b"://")
        && !is_placeholder(value)
}

fn has_shape(value: &[u8], class: KeyClass, form: AssignmentForm) -> bool {
    match form {
        AssignmentForm::Quoted => is_secret_quoted(value, class),
        AssignmentForm::Environment => {
            is_secret_bare(value, class) || (is_letters(value) && value.len() >= SHORTEST_ENVIRONMENT_WORD)
        }
        AssignmentForm::Plain => is_secret_bare(value, class) && !is_expression(value),
        AssignmentForm::Line => {
            let password = class == KeyClass::Password && is_chosen(value);
            (password || is_strong(value)) && !is_expression(value)
        }
        AssignmentForm::Code => is_strong(value) && !is_expression(value),
    }
}

fn is_secret_quoted(value: &[u8], class: KeyClass) -> bool {
    if class == KeyClass::Password {
        return value.len() >= SHORTEST_QUOTED_PASSWORD
            && (is_mixed(value) || is_digits(value) || is_run_together(value))
            && !is_phrase(value);
    }
    (value.len() >= SHORTEST && has_letter_and_digit(value) && !is_wordy(value))
        || is_strong(value)
        || is_scrambled(value)
}

fn is_secret_bare(value: &[u8], class: KeyClass) -> bool {
    if value.len() < SHORTEST {
        return false;
    }
    if class == KeyClass::Password {
        return (is_mixed(value) || is_digits(value)) && !is_phrase(value);
    }
    (has_letter_and_digit(value) && !is_wordy(value)) || is_scrambled(value)
}

/// Whether the value names a secret instead of being one: a variable, a template, a tag.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    let opens = matches!(value.first(), Some(b'$' | b'{' | b'<' | b'[' | b'('))
        && !(value.first() == Some(&b'$') && is_hash_like(value));
    let percent = matches!(value, [b'%', .., b'%'] | [b'%', b's' | b'd' | b'v' | b'(' | b'{', ..]);
    opens
        || percent
        || contains(value, b"${")
        || contains(value, b"{{")
        || contains(value, b"$(")
        || contains(value, b"#{")
        || contains(value, b"%{")
        || (value.contains(&b'{') && value.contains(&b'}'))
}

/// Whether the value hides something already: stars, dots, a row of `x`.
pub(crate) fn is_mask(value: &[u8]) -> bool {
    let Some(&first) = value.first() else {
        return true;
    };
    let masks = |byte: &u8| matches!(byte, b'*' | b'.' | b'x' | b'X' | b'#' | b'-' | b'_');
    let masked = value.iter().all(|byte| masks(byte) || !byte.is_ascii());
    masked || (value.len() > 3 && value.iter().all(|&byte| byte == first))
}

/// Whether the value asks to be replaced.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let bounded = value.len() < LONGEST_PLACEHOLDER || is_wordy(value);
    bounded && PLACEHOLDERS.iter().any(|word| contains_ignoring_case(value, word))
}

/// Whether the value is random enough to be a secret even where code could stand.
pub(crate) fn is_strong(value: &[u8]) -> bool {
    let digit_groups = count_groups(value, u8::is_ascii_digit);
    value.len() >= SHORTEST_STRONG
        && has_letter_and_digit(value)
        && (digit_groups >= 3 || count_turns(value) * 4 >= value.len())
        && !is_wordy(value)
        && !is_mask(value)
        && !is_placeholder(value)
}

/// Whether upper and lower case alternate as they do in no name.
pub(crate) fn is_scrambled(value: &[u8]) -> bool {
    value.len() >= SHORTEST_SCRAMBLED
        && count_turns(value) * 4 >= value.len()
        && value.iter().any(u8::is_ascii_lowercase)
        && value.iter().any(u8::is_ascii_uppercase)
}

/// Whether the value is made of words, with short numbers after them.
pub(crate) fn is_wordy(value: &[u8]) -> bool {
    value
        .split(|byte| matches!(byte, b'-' | b'_' | b'.' | b':' | b'/' | b'@' | b'|' | b'+' | b'='))
        .all(is_wordy_segment)
}

/// Whether the value is made of small words, as prose and labels are.
pub(crate) fn is_label(value: &[u8]) -> bool {
    let inner_capital = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_alphanumeric() && b.is_ascii_uppercase());
    is_wordy(value) && !value.windows(2).any(inner_capital)
}

/// Words joined by something; a single word with a number is a weak password, not a phrase.
fn is_phrase(value: &[u8]) -> bool {
    let joined = value.iter().any(|byte| matches!(byte, b'-' | b'_' | b'.' | b':' | b'/'));
    joined && !value.contains(&b'@') && is_wordy(value)
}

/// `parseTokenV2` is three words; `hunter2hunter2` and `wJalrXUtnF` are none.
fn is_wordy_segment(segment: &[u8]) -> bool {
    const LONGEST_NUMBER: usize = 4;
    const LONG: usize = 20;
    let shortest_word = if segment.len() < LONG { 3 } else { 4 };
    const LONGEST_SUFFIX: usize = 3;
    let mut digits = 0;
    let mut letters = 0;
    let mut capitals = 0;
    let mut words = 1;
    let mut last = 0u8;
    for &byte in segment {
        if byte.is_ascii_digit() {
            digits += 1;
        } else if byte.is_ascii_alphabetic() {
            let hump = byte.is_ascii_uppercase();
            if digits > 0 && !(hump && letters > 0) {
                return false;
            }
            let tail = !hump && last.is_ascii_uppercase() && capitals > 1;
            words += usize::from(tail || (hump && letters > 0 && !last.is_ascii_uppercase()));
            capitals = if hump { capitals + 1 } else { 0 };
            letters += 1;
            digits = 0;
        } else {
            return false;
        }
        let longest = if letters > 0 { LONGEST_SUFFIX } else { LONGEST_NUMBER };
        if digits > longest {
            return false;
        }
        last = byte;
    }
    letters >= words * shortest_word || letters < SHORTEST
}

/// Whether a bare value is code: a call, an index, a member, a tag, an alias.
fn is_expression(value: &[u8]) -> bool {
    matches!(value.first(), Some(b'!' | b'*' | b'&' | b'@' | b'|' | b'>' | b'/' | b'~' | b'.' | b'-'))
        && !is_strong(value)
        || value.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{'))
        || contains(value, b"::")
}

/// `$2b$12$...` and `$argon2id$...` start like a shell variable.
fn is_hash_like(value: &[u8]) -> bool {
    value.iter().filter(|&&byte| byte == b'$').count() >= 3
}

/// Whether somebody made the value up as a password: no name has its digits and signs so.
fn is_chosen(value: &[u8]) -> bool {
    let signs = value.iter().filter(|byte| is_sign(byte)).count();
    let digit_groups = count_groups(value, u8::is_ascii_digit);
    value.len() >= SHORTEST && is_mixed(value) && (digit_groups >= 2 || signs * digit_groups > 0) && !is_wordy(value)
}

fn is_sign(byte: &u8) -> bool {
    matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'?' | b'~')
}

fn is_mixed(value: &[u8]) -> bool {
    let letter = value.iter().any(u8::is_ascii_alphabetic);
    letter && value.iter().any(|byte| byte.is_ascii_digit() || is_sign(byte))
}

fn has_letter_and_digit(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_alphabetic) && value.iter().any(u8::is_ascii_digit)
}

fn is_digits(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_digit)
}

fn is_letters(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_alphabetic)
}

fn is_run_together(value: &[u8]) -> bool {
    value.len() >= SHORTEST_RUN_TOGETHER && value.iter().all(u8::is_ascii_lowercase)
}

fn count_groups(value: &[u8], belongs: impl Fn(&u8) -> bool) -> usize {
    value.split(|byte| !belongs(byte)).filter(|group| !group.is_empty()).count()
}

/// How often the kind of character changes, a capital before small letters not counted.
fn count_turns(value: &[u8]) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let turn = |pair: &[u8]| match *pair {
        [a, b] => class(a) != class(b) && (class(a), class(b)) != (1, 0) && class(b) != 3,
        _ => false,
    };
    value.windows(2).filter(|pair| turn(pair)).count()
}

fn contains(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window == part)
}

fn contains_ignoring_case(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}
