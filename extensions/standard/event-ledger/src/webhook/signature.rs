//! Whether a request was signed by somebody who knows a secret, judged on the bytes as they arrived.
//!
//! Pure.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use dispatch_contracts::contribution::RawRequest;
use dispatch_contracts::secret::Secret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Where a plain HMAC is looked for if the settings name no header: what senders commonly use.
const HMAC_HEADERS: [&str; 5] =
    ["x-signature-256", "x-hub-signature-256", "x-signature", "x-webhook-signature", "x-hmac-sha256"];
/// The most signatures that one header is read for.
const MAX_SIGNATURES: usize = 16;

/// How senders sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignatureScheme {
    /// Standard Webhooks: id, time and body.
    Standard,
    /// GitHub: the body.
    Github,
    /// Slack: time and body.
    Slack,
    /// The body, in hex or base64.
    Hmac,
    /// Not at all.
    None,
}

impl SignatureScheme {
    /// The scheme with the word that the settings use.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "standard" => Self::Standard,
            "github" => Self::Github,
            "slack" => Self::Slack,
            "hmac" => Self::Hmac,
            "none" => Self::None,
            _ => return None,
        })
    }
}

/// What a signature is judged by.
pub(crate) struct SignatureCheck<'a> {
    pub(crate) scheme: SignatureScheme,
    /// Any of them will do.
    pub(crate) secrets: &'a [Secret],
    /// The header of a plain HMAC, if the settings name one.
    pub(crate) header: Option<&'a str>,
    /// The present, in Unix seconds.
    pub(crate) now_s: u64,
    /// How far a signed time may be from it.
    pub(crate) tolerance_s: u64,
}

/// Why a request is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SignatureError {
    /// A header that the scheme needs is not there.
    #[error("the header `{0}` is missing")]
    Missing(String),
    /// The signed time cannot be read.
    #[error("the header `{0}` is not a time in Unix seconds")]
    NoTime(&'static str),
    /// The signed time is too far away.
    #[error("the signed time is more than {tolerance_s} s away from the server's")]
    WrongTime {
        /// How far it may be.
        tolerance_s: u64,
    },
    /// No secret gives this signature.
    #[error("the signature does not fit")]
    Mismatch,
    /// Nothing can be checked.
    #[error("the webhook has no secret that can be used")]
    NoSecret,
}

impl SignatureCheck<'_> {
    /// Whether the request is signed as it should be.
    pub(crate) fn verify(&self, request: &RawRequest) -> Result<(), SignatureError> {
        match self.scheme {
            SignatureScheme::None => Ok(()),
            SignatureScheme::Standard => self.standard(request),
            SignatureScheme::Github => self.plain(request, &["x-hub-signature-256"]),
            SignatureScheme::Hmac => match self.header {
                Some(header) => self.plain(request, &[header]),
                None => self.plain(request, &HMAC_HEADERS),
            },
            SignatureScheme::Slack => self.slack(request),
        }
    }

    fn standard(&self, request: &RawRequest) -> Result<(), SignatureError> {
        let id = needed(request, "webhook-id")?;
        let time = self.time(request, "webhook-timestamp")?;
        let listed = needed(request, "webhook-signature")?;
        let signatures: Vec<Vec<u8>> = listed
            .split_ascii_whitespace()
            .take(MAX_SIGNATURES)
            .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok())
            .collect();
        let keys = self.secrets.iter().filter_map(standard_key).collect();
        any_fits(keys, &signatures, &[id.as_bytes(), b".", time.as_bytes(), b".", &request.body])
    }

    fn slack(&self, request: &RawRequest) -> Result<(), SignatureError> {
        let time = self.time(request, "x-slack-request-timestamp")?;
        let signature = needed(request, "x-slack-signature")?;
        let signatures: Vec<Vec<u8>> = signature.strip_prefix("v0=").and_then(hex).into_iter().collect();
        any_fits(self.keys(), &signatures, &[b"v0:", time.as_bytes(), b":", &request.body])
    }

    fn plain(&self, request: &RawRequest, headers: &[&str]) -> Result<(), SignatureError> {
        let found = headers.iter().find_map(|header| request.header(header));
        let missing = || SignatureError::Missing(headers.first().copied().unwrap_or_default().to_owned());
        let text = found.ok_or_else(missing)?.trim();
        let text = text.strip_prefix("sha256=").unwrap_or(text);
        let mut signatures: Vec<Vec<u8>> = hex(text).into_iter().collect();
        signatures.extend(
            [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD].iter().find_map(|one| one.decode(text).ok()),
        );
        any_fits(self.keys(), &signatures, &[&request.body])
    }

    fn keys(&self) -> Vec<Vec<u8>> {
        self.secrets.iter().map(|secret| secret.expose().as_bytes().to_vec()).collect()
    }

    /// The signed time as it was written, if it is near enough.
    fn time<'r>(&self, request: &'r RawRequest, header: &'static str) -> Result<&'r str, SignatureError> {
        let text = needed(request, header)?;
        let time: u64 = text.parse().map_err(|_| SignatureError::NoTime(header))?;
        if time.abs_diff(self.now_s) > self.tolerance_s {
            return Err(SignatureError::WrongTime { tolerance_s: self.tolerance_s });
        }
        Ok(text)
    }
}

/// The key of a Standard Webhooks secret: base64, with or without `whsec_`.
fn standard_key(secret: &Secret) -> Option<Vec<u8>> {
    let text = secret.expose().trim();
    let text = text.strip_prefix("whsec_").unwrap_or(text);
    STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok().filter(|key| !key.is_empty())
}

/// The signature of a message that we send, by Standard Webhooks.
pub(super) fn sign(secret: &Secret, id: &str, time_s: u64, body: &[u8]) -> Option<String> {
    let time = time_s.to_string();
    let key = standard_key(secret).unwrap_or_else(|| secret.expose().as_bytes().to_vec());
    let mac = mac(&key, &[id.as_bytes(), b".", time.as_bytes(), b".", body])?;
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

fn needed<'r>(request: &'r RawRequest, name: &str) -> Result<&'r str, SignatureError> {
    request.header(name).ok_or_else(|| SignatureError::Missing(name.to_owned()))
}

fn mac(key: &[u8], signed: &[&[u8]]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    signed.iter().for_each(|part| mac.update(part));
    Some(mac)
}

/// Compares in a time that does not tell how much of a signature was right.
fn any_fits(keys: Vec<Vec<u8>>, signatures: &[Vec<u8>], signed: &[&[u8]]) -> Result<(), SignatureError> {
    if keys.is_empty() {
        return Err(SignatureError::NoSecret);
    }
    let macs: Vec<Hmac<Sha256>> = keys.iter().filter_map(|key| mac(key, signed)).collect();
    let fits = |signature: &Vec<u8>| macs.iter().any(|mac| mac.clone().verify_slice(signature).is_ok());
    if signatures.iter().any(fits) { Ok(()) } else { Err(SignatureError::Mismatch) }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|sign| sign.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| u8::try_from(pair.iter().fold(0, |all, digit| all * 16 + digit)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn check(
        scheme: SignatureScheme,
        secrets: &[&str],
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<(), SignatureError> {
        let secrets: Vec<Secret> = secrets.iter().map(|text| Secret::new(*text)).collect();
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let request = RawRequest { headers, body: body.as_bytes().to_vec(), ..RawRequest::default() };
        SignatureCheck { scheme, secrets: &secrets, header: None, now_s: NOW, tolerance_s: 300 }.verify(&request)
    }

    #[test]
    fn the_published_examples_are_believed() {
        // GitHub's own documentation: "Validating webhook deliveries".
        let github =
            [("x-hub-signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")];
        let secret = "It's a Secret to Everybody";
        assert_eq!(check(SignatureScheme::Github, &[secret], &github, "Hello, World!"), Ok(()));
        assert_eq!(check(SignatureScheme::Hmac, &["other", secret], &github, "Hello, World!"), Ok(()), "rotation");
        assert_eq!(check(SignatureScheme::Github, &[secret], &github, "Hello, World"), Err(SignatureError::Mismatch));
        assert_eq!(check(SignatureScheme::Github, &[], &github, "Hello, World!"), Err(SignatureError::NoSecret));
    }

    #[test]
    fn what_we_sign_is_believed_within_the_time_window_only() {
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed = sign(&secret, "msg_1", NOW - 10, b"{}").unwrap();
        let time = (NOW - 10).to_string();
        let headers = [("webhook-id", "msg_1"), ("webhook-timestamp", time.as_str()), ("webhook-signature", "")];
        let with = |id: &'static str, signature: &str, secrets: &[&str], body: &str| {
            let headers = [("webhook-id", id), headers[1], ("webhook-signature", signature)];
            check(SignatureScheme::Standard, secrets, &headers, body)
        };
        let key = secret.expose();
        assert_eq!(with("msg_1", &signed, &[key], "{}"), Ok(()));
        assert_eq!(with("msg_1", &format!("v1,AAAA v2,x {signed}"), &["whsec_b2xk", key], "{}"), Ok(()));
        assert_eq!(with("msg_2", &signed, &[key], "{}"), Err(SignatureError::Mismatch), "the id is signed");
        assert_eq!(with("msg_1", &signed, &[key], "{ }"), Err(SignatureError::Mismatch));
        assert_eq!(with("msg_1", &signed, &["not base64!"], "{}"), Err(SignatureError::NoSecret));
        for (time, expected) in [
            ("1699999699", SignatureError::WrongTime { tolerance_s: 300 }),
            ("1700000301", SignatureError::WrongTime { tolerance_s: 300 }),
            ("now", SignatureError::NoTime("webhook-timestamp")),
        ] {
            let headers = [("webhook-id", "m"), ("webhook-timestamp", time), ("webhook-signature", "v1,AAAA")];
            assert_eq!(check(SignatureScheme::Standard, &[key], &headers, "{}"), Err(expected), "{time}");
        }
        let missing = check(SignatureScheme::Standard, &[key], &[], "{}");
        assert_eq!(missing, Err(SignatureError::Missing("webhook-id".to_owned())));
    }

    #[test]
    fn the_published_example_of_slack_is_believed_at_its_time() {
        let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let headers = [
            ("x-slack-request-timestamp", "1531420618"),
            ("x-slack-signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"),
        ];
        let secrets = [Secret::new("8f742231b10e8888abcd99yyyzzz85a5")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).to_vec();
        let request = RawRequest { headers, body: body.as_bytes().to_vec(), ..RawRequest::default() };
        let at = |now_s| SignatureCheck {
            scheme: SignatureScheme::Slack,
            secrets: &secrets,
            header: None,
            now_s,
            tolerance_s: 300,
        };
        assert_eq!(at(1_531_420_700).verify(&request), Ok(()));
        assert!(at(1_531_430_700).verify(&request).is_err());
    }

    #[test]
    fn a_plain_hmac_may_be_hex_or_base64_and_unsigned_means_unsigned() {
        let base64 = STANDARD.encode(hex("757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17").unwrap());
        let secret = ["It's a Secret to Everybody"];
        assert_eq!(check(SignatureScheme::Hmac, &secret, &[("x-signature", &base64)], "Hello, World!"), Ok(()));
        for wrong in ["", "sha256=", "zz", "75", "v1,75"] {
            let answer = check(SignatureScheme::Hmac, &secret, &[("x-signature", wrong)], "Hello, World!");
            assert_eq!(answer, Err(SignatureError::Mismatch), "{wrong}");
        }
        assert!(matches!(check(SignatureScheme::Hmac, &secret, &[], "x"), Err(SignatureError::Missing(_))));
        assert_eq!(check(SignatureScheme::None, &[], &[], "x"), Ok(()));
    }
}
