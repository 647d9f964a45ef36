//! Colour, for terminals only.

use dispatch_os::environment;
use std::io::IsTerminal;

/// What stands out, and how.
#[derive(Clone, Copy)]
pub(crate) enum Tone {
    Faint,
    Good,
    Bad,
    Name,
}

/// Colours text, or leaves it.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Colours if standard output is a terminal that can show it.
    pub(crate) fn for_stdout() -> Self {
        Self { on: is_wanted() && std::io::stdout().is_terminal() }
    }

    /// Colours if standard error is a terminal that can show it.
    pub(crate) fn for_stderr() -> Self {
        Self { on: is_wanted() && std::io::stderr().is_terminal() }
    }

    /// Whether anything is coloured.
    pub(crate) const fn is_on(self) -> bool {
        self.on
    }

    /// The text in a tone.
    pub(crate) fn text(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Name => "36",
        };
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn is_wanted() -> bool {
    let refused = environment::variable_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = environment::variable_os("TERM").is_some_and(|value| value == "dumb");
    !refused && !dumb
}

#[cfg(test)]
impl Paint {
    /// One that colours, or one that does not.
    pub(crate) const fn of(on: bool) -> Self {
        Self { on }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_left_alone_unless_colour_is_wanted() {
        assert_eq!(Paint { on: false }.text(Tone::Bad, "x"), "x");
        assert_eq!(Paint { on: true }.text(Tone::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
    }
}
