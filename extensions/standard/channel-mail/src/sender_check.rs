//! Whether the receiving server vouches for the sender that a mail names: anybody can write any sender into a mail.
//!
//! Pure.

/// What the receiving server found out about the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SenderCheck {
    /// It vouches for it, or nothing is known and nothing was asked for.
    Believed,
    /// It says that the sender is forged, or says nothing although it should.
    Unverified,
}

/// Judges by the first `Authentication-Results`, which is the one that the last server added.
///
/// With `authserv` only that server's word counts, and a mail without it is unverified. Without it a mail is believed
/// unless the header says that checks failed: such a header can only lower what is believed, whoever wrote it.
pub(crate) fn check_sender(results: Option<&str>, authserv: Option<&str>) -> SenderCheck {
    let results = results.map(str::to_ascii_lowercase);
    let verdicts = results.as_deref().map(Verdicts::of);
    match (verdicts, authserv) {
        (None, None) => SenderCheck::Believed,
        (None, Some(_)) => SenderCheck::Unverified,
        (Some(found), None) if found.fails() => SenderCheck::Unverified,
        (Some(_), None) => SenderCheck::Believed,
        (Some(found), Some(server)) if found.server == server.to_ascii_lowercase() && found.passes() => {
            SenderCheck::Believed
        }
        (Some(_), Some(_)) => SenderCheck::Unverified,
    }
}

/// What the header says, in lower case.
struct Verdicts<'a> {
    server: &'a str,
    methods: Vec<(&'a str, &'a str)>,
}

impl<'a> Verdicts<'a> {
    fn of(text: &'a str) -> Self {
        let mut parts = text.split(';');
        let server = parts.next().unwrap_or_default().split_whitespace().next().unwrap_or_default();
        let method = |part: &'a str| part.split_whitespace().next()?.split_once('=');
        Self { server, methods: parts.filter_map(method).collect() }
    }

    fn says(&self, method: &str, verdicts: &[&str]) -> bool {
        self.methods.iter().any(|(known, verdict)| *known == method && verdicts.contains(verdict))
    }

    /// DMARC alone looks at the sender that people see.
    fn passes(&self) -> bool {
        self.says("dmarc", &["pass"])
    }

    fn fails(&self) -> bool {
        let is_signed = self.says("dkim", &["pass"]) || self.says("dmarc", &["pass"]);
        self.says("dmarc", &["fail"]) || (self.says("spf", &["fail", "softfail"]) && !is_signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forged_sender_is_not_believed() {
        use SenderCheck::{Believed, Unverified};
        for (results, authserv, check) in [
            (None, None, Believed),
            (None, Some("mx.example.org"), Unverified),
            (Some("mx.example.org; dmarc=pass header.from=a.org"), Some("MX.example.org"), Believed),
            (Some("mx.example.org 1; spf=pass; dmarc=pass"), Some("mx.example.org"), Believed),
            (Some("evil.example.net; dmarc=pass"), Some("mx.example.org"), Unverified),
            (Some("mx.example.org; spf=pass; dkim=pass"), Some("mx.example.org"), Unverified),
            (Some("mx.example.org; none"), None, Believed),
            (Some("mx.example.org; dmarc=fail header.from=a.org"), None, Unverified),
            (Some("mx.example.org; spf=softfail smtp.mailfrom=a.org"), None, Unverified),
            (Some("mx.example.org; spf=fail; dkim=pass"), None, Believed),
            (Some("mx.example.org; dkim=fail; spf=pass"), None, Believed),
            (Some(""), None, Believed),
        ] {
            assert_eq!(check_sender(results, authserv), check, "{results:?} {authserv:?}");
        }
    }
}
