//! Private key blocks go whole, also when they are cut off or escaped, but not when only mentioned.

use dispatch_redact::Redactor;

use crate::samples::{SeededRandom, key_block};

#[test]
fn a_block_goes_from_its_first_line_to_its_last() {
    for line_end in ["\n", "\r\n", "\\n", "\n+", "\n    "] {
        let block = key_block("RSA PRIVATE KEY", &mut SeededRandom::new(7), line_end);
        let text = format!("before\n{block}\nafter\n");
        assert_eq!(Redactor::builtin().redact(&text), "before\n[REDACTED]\nafter\n");
    }
}

#[test]
fn a_block_without_its_last_line_goes_to_the_end() {
    let block = key_block("OPENSSH PRIVATE KEY", &mut SeededRandom::new(8), "\n");
    let cut = block.split("-----END").next().unwrap_or_default();
    let text = format!("before\n{cut}abc");
    assert_eq!(Redactor::builtin().redact(&text), "before\n[REDACTED]");
}

#[test]
fn a_service_account_file_loses_its_key_and_stays_json() {
    let block = key_block("PRIVATE KEY", &mut SeededRandom::new(9), "\\n");
    let text = format!("{{\"type\":\"service_account\",\"private_key\":\"{block}\\n\",\"client_id\":\"1\"}}");
    let redacted = Redactor::builtin().redact(&text).into_owned();
    assert_eq!(redacted, text.replace(&block, "[REDACTED]"));
    assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok());
}

#[test]
fn an_encrypted_block_with_headers_goes() {
    let block = key_block("RSA PRIVATE KEY", &mut SeededRandom::new(10), "\n");
    let headers = "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011223344556677\n\n";
    let text = block.replacen("-----\n", headers, 1);
    assert_eq!(Redactor::builtin().redact(&text), "[REDACTED]");
}

#[test]
fn a_mention_of_the_format_stays() {
    for text in [
        "if text.starts_with(\"-----BEGIN PRIVATE KEY-----\") { return parse_private_key(text); }\nfn next() {}\n",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----\n",
        "A key file starts with -----BEGIN OPENSSH PRIVATE KEY----- and is kept in ~/.ssh.",
        "-----BEGIN PRIVATE KEY-----\n[REDACTED]\n-----END PRIVATE KEY-----",
    ] {
        assert_eq!(Redactor::builtin().redact(text), text);
    }
}
