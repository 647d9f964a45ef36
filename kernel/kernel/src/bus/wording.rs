//! Words for messages: durations people read, and foreign text made safe for one line.

/// How much of an extension's own text goes into a message.
pub(crate) const MESSAGE_BYTES: usize = 500;

/// A duration as people say it.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        _ if ms >= 120_000 && ms.is_multiple_of(60_000) => format!("{} minutes", ms / 60_000),
        _ if ms.is_multiple_of(1_000) => format!("{} s", ms / 1_000),
        _ => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
    }
}

/// Foreign text on one line, without control characters, cut to [`MESSAGE_BYTES`].
pub(crate) fn one_line(text: &str) -> String {
    let end = text.floor_char_boundary(MESSAGE_BYTES);
    let mut line: String = text[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.trim_end().len());
    if end < text.len() {
        line.push('…');
    }
    if line.is_empty() { "no reason given".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_speech() {
        for (ms, words) in
            [(0, "0 ms"), (999, "999 ms"), (5_000, "5 s"), (4_230, "4.2 s"), (90_000, "90 s"), (600_000, "10 minutes")]
        {
            assert_eq!(duration(ms), words);
        }
    }

    #[test]
    fn foreign_text_stays_on_one_short_line() {
        assert_eq!(one_line("a\n\u{1b}[31mb\n"), "a  [31mb");
        assert_eq!(one_line(""), "no reason given");
        let long = one_line(&"é".repeat(MESSAGE_BYTES));
        assert!(long.ends_with('…') && long.len() <= MESSAGE_BYTES + '…'.len_utf8());
    }
}
