//! Uncovered lines as a SARIF 2.1.0 log, for tools that show findings in the code.
//!
//! Pure.

use serde_json::{Value, json};

use crate::query::uncovered_lines::UncoveredLines;

const RULE: &str = "uncovered-change";

/// A SARIF log with one run and one result per range of lines; `version` is the version of the program.
#[must_use]
pub fn log(uncovered: &[UncoveredLines], version: &str) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dispatch",
                "semanticVersion": version,
                "rules": [{
                    "id": RULE,
                    "name": "UncoveredChange",
                    "shortDescription": { "text": "No intent covers this change." },
                    "help": { "text": "Declare an intent that owns the file and let the agent make the change under it, or let a person approve the commit with the trailer `Intent-Approved-By: NAME`." },
                    "defaultConfiguration": { "level": "error" },
                }],
            }},
            "columnKind": "utf16CodeUnits",
            "results": uncovered.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(span: &UncoveredLines) -> Value {
    json!({
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": "error",
        "message": { "text": format!("No intent covers lines {} to {} of {}.", span.start, span.end, span.file) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": encode(&span.file), "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": span.start, "endLine": span.end },
        }}],
    })
}

/// A path as a relative URI.
fn encode(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_and_places_are_kept() {
        let span = UncoveredLines { file: "a b/ü%:.rs".to_owned(), start: 3, end: 5 };
        let log = log(&[span], "1.2.3");
        let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "a%20b/%C3%BC%25%3A.rs");
        assert_eq!(location["region"], json!({"startLine": 3, "endLine": 5}));
        assert_eq!(log["version"], "2.1.0");
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][0]["id"], log["runs"][0]["results"][0]["ruleId"]);
        assert_eq!(super::log(&[], "1")["runs"][0]["results"], json!([]));
    }
}
