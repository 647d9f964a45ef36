//! Whether a tool call went well, from what the host tells about it.
//!
//! Pure.

use dispatch_redact::Redactor;
use serde_json::Value;

const CLASS_LIMIT_CHARS: usize = 120;

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    /// Nothing says that it failed.
    Ok,
    /// It failed; the first line of what is said about it, without numbers that vary.
    Failed(String),
}

/// Judges the response of a tool, and the error a host reports in its place.
#[must_use]
pub fn tool_outcome(response: &Value, error: Option<&str>) -> ToolOutcome {
    if let Some(error) = error {
        return ToolOutcome::Failed(class(error));
    }
    let Value::Object(fields) = response else {
        return ToolOutcome::Ok;
    };
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool);
    let number = |name: &str| fields.get(name).and_then(Value::as_i64);
    let failed = ["is_error", "isError", "interrupted"].into_iter().any(|name| flag(name) == Some(true))
        || flag("success") == Some(false)
        || ["exit_code", "exitCode", "returnCode"].into_iter().any(|name| number(name).is_some_and(|code| code != 0))
        || fields.get("error").is_some_and(|error| error.as_str().is_some_and(|text| !text.is_empty()));
    if !failed {
        return ToolOutcome::Ok;
    }
    let said = ["error", "stderr", "message", "output", "stdout"];
    let text = said.into_iter().find_map(|name| fields.get(name)?.as_str().filter(|text| !text.trim().is_empty()));
    ToolOutcome::Failed(class(text.unwrap_or("failed")))
}

fn class(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("failed");
    // Before anything is cut or replaced: afterwards the rest of a secret would not be recognised.
    let line = Redactor::builtin().redact(line);
    line.chars()
        .take(CLASS_LIMIT_CHARS)
        .map(|character| if character.is_ascii_digit() { '#' } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_in_a_failure_is_gone_before_it_is_cut_or_changed() {
        let secret = format!("gh{}_{}", "p", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
        let padding = "x".repeat(CLASS_LIMIT_CHARS - 20);
        for text in [format!("denied for {secret}"), format!("{padding} {secret}")] {
            let told = class(&text);
            assert!(!told.contains("ghp_A"), "{told}");
        }
    }

    #[test]
    fn failures_are_told_in_many_ways() {
        let failed = [
            (json!({"is_error": true, "output": "no such file: 17"}), "no such file: ##"),
            (json!({"exitCode": 2, "stderr": "\n  boom\nmore"}), "boom"),
            (json!({"success": false}), "failed"),
            (json!({"error": "E1"}), "E#"),
        ];
        for (response, expected) in failed {
            assert_eq!(tool_outcome(&response, None), ToolOutcome::Failed(expected.to_owned()), "{response}");
        }
        for fine in [json!(null), json!("text"), json!({"exit_code": 0, "error": ""}), json!({"stdout": "error"})] {
            assert_eq!(tool_outcome(&fine, None), ToolOutcome::Ok, "{fine}");
        }
        assert_eq!(tool_outcome(&json!({}), Some("denied")), ToolOutcome::Failed("denied".to_owned()));
    }
}
