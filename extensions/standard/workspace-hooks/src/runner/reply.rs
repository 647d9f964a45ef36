//! Reads what another agent's program prints: its answer, what it spent, whether it failed.
//!
//! Pure.

use super::reply_format::ReplyFormat;
use crate::contract::Usage;
use serde_json::Value;

/// The longest document or line that is read; a longer one is kept as the text that it is.
const MAX_READ_BYTES: usize = 8 * 1024 * 1024;
const MICRO: f64 = 1_000_000.0;

/// What a program said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AgentReply {
    pub(super) text: Option<String>,
    pub(super) usage: Usage,
    /// What it says went wrong, whatever it exits with.
    pub(super) failure: Option<String>,
}

/// Takes the output in pieces.
pub(super) struct ReplyReader {
    form: ReplyFormat,
    /// The document so far, or the line that is not complete.
    held: Vec<u8>,
    too_long: bool,
    reply: AgentReply,
    heard: bool,
}

impl ReplyReader {
    /// A reader for this form; none for one that needs none.
    pub(super) fn of(form: ReplyFormat) -> Option<Self> {
        let reader = Self { form, held: Vec::new(), too_long: false, reply: AgentReply::default(), heard: false };
        (form != ReplyFormat::Text).then_some(reader)
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        if !matches!(self.form, ReplyFormat::CodexLines | ReplyFormat::OpencodeLines) {
            self.hold(piece);
            return;
        }
        let mut lines = piece.split(|byte| *byte == b'\n');
        self.hold(lines.next().unwrap_or_default());
        for next in lines {
            self.take();
            self.hold(next);
        }
    }

    /// What it came to; nothing if nothing was understood.
    pub(super) fn finish(mut self) -> Option<AgentReply> {
        self.take();
        self.heard.then_some(self.reply)
    }

    fn hold(&mut self, piece: &[u8]) {
        if self.held.len() + piece.len() > MAX_READ_BYTES {
            self.too_long = true;
            self.held.clear();
        }
        if !self.too_long {
            self.held.extend_from_slice(piece);
        }
    }

    fn take(&mut self) {
        let held = std::mem::take(&mut self.held);
        if std::mem::take(&mut self.too_long) {
            return;
        }
        let Ok(Value::Object(fields)) = serde_json::from_slice(&held) else { return };
        let value = Value::Object(fields);
        self.heard |= match self.form {
            ReplyFormat::Text => false,
            ReplyFormat::ResultDocument => self.result(&value),
            ReplyFormat::GeminiDocument => self.gemini(&value),
            ReplyFormat::CodexLines => self.codex(&value),
            ReplyFormat::OpencodeLines => self.opencode(&value),
        };
    }

    fn result(&mut self, value: &Value) -> bool {
        let usage = &value["usage"];
        let counted = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
        self.spend(counted.iter().map(|name| count(&usage[*name])).sum(), &value["total_cost_usd"]);
        self.reply.text = text(&value["result"]);
        if value["is_error"] == true {
            let said = text(&value["result"]).or_else(|| text(&value["subtype"]));
            self.reply.failure = Some(said.unwrap_or_else(|| "it says that it failed".to_owned()));
        }
        self.reply.text.is_some() || self.reply.failure.is_some()
    }

    fn gemini(&mut self, value: &Value) -> bool {
        let models = value["stats"]["models"].as_object().into_iter().flatten();
        self.spend(models.map(|(_, model)| count(&model["tokens"]["total"])).sum(), &Value::Null);
        self.reply.text = text(&value["response"]);
        if !value["error"].is_null() {
            let said = text(&value["error"]["message"]);
            self.reply.failure = Some(said.unwrap_or_else(|| "it says that it failed".to_owned()));
        }
        self.reply.text.is_some() || self.reply.failure.is_some()
    }

    fn codex(&mut self, value: &Value) -> bool {
        match value["type"].as_str().unwrap_or_default() {
            "item.completed" if value["item"]["type"] == "agent_message" => {
                self.reply.text = text(&value["item"]["text"]).or(self.reply.text.take());
            }
            "turn.completed" => {
                let usage = &value["usage"];
                self.spend(count(&usage["input_tokens"]) + count(&usage["output_tokens"]), &Value::Null);
            }
            "turn.failed" => self.fail(&value["error"]["message"]),
            "error" => self.fail(&value["message"]),
            _ => return false,
        }
        true
    }

    fn opencode(&mut self, value: &Value) -> bool {
        let part = &value["part"];
        match value["type"].as_str().unwrap_or_default() {
            "text" => self.reply.text = text(&part["text"]).or(self.reply.text.take()),
            "step_finish" => {
                let tokens = &part["tokens"];
                let read = count(&tokens["input"]) + count(&tokens["cache"]["read"]) + count(&tokens["cache"]["write"]);
                self.spend(read + count(&tokens["output"]) + count(&tokens["reasoning"]), &part["cost"]);
            }
            "error" => self.fail(&value["error"]["data"]["message"]),
            _ => return false,
        }
        true
    }

    fn spend(&mut self, tokens: u64, usd: &Value) {
        let micro_usd = usd.as_f64().filter(|usd| usd.is_finite() && *usd > 0.0).map_or(0.0, |usd| usd * MICRO);
        self.reply.usage.tokens = self.reply.usage.tokens.saturating_add(tokens);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; a huge one saturates")]
        let micro_usd = micro_usd.round() as u64;
        self.reply.usage.micro_usd = self.reply.usage.micro_usd.saturating_add(micro_usd);
    }

    fn fail(&mut self, said: &Value) {
        self.reply.failure = Some(text(said).unwrap_or_else(|| "it says that it failed".to_owned()));
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// A count beyond what a program can spend is ignored.
fn count(value: &Value) -> u64 {
    value.as_u64().filter(|count| *count < u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: ReplyFormat, printed: &str, size: usize) -> Option<AgentReply> {
        let mut reader = ReplyReader::of(form)?;
        printed.as_bytes().chunks(size).for_each(|piece| reader.push(piece));
        reader.finish()
    }

    fn check(form: ReplyFormat, printed: &str, text: Option<&str>, tokens: u64, micro_usd: u64, failure: Option<&str>) {
        let expected = AgentReply {
            text: text.map(str::to_owned),
            usage: Usage { tokens, micro_usd },
            failure: failure.map(str::to_owned),
        };
        for size in [1, 13, 4096] {
            assert_eq!(read(form, printed, size).as_ref(), Some(&expected), "{printed} by {size}");
        }
    }

    #[test]
    fn answers_and_costs_are_found_in_each_form() {
        check(
            ReplyFormat::ResultDocument,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0.0123456,
                "usage":{"input_tokens":4,"cache_creation_input_tokens":10,"cache_read_input_tokens":20,"output_tokens":6}}"#,
            Some("done"),
            40,
            12_346,
            None,
        );
        check(
            ReplyFormat::ResultDocument,
            r#"{"type":"result","subtype":"error_max_turns","is_error":true,"usage":{"output_tokens":1}}"#,
            None,
            1,
            0,
            Some("error_max_turns"),
        );
        check(
            ReplyFormat::GeminiDocument,
            r#"{"response":"Paris","stats":{"models":{"a":{"tokens":{"total":7}},"b":{"tokens":{"total":5}}}}}"#,
            Some("Paris"),
            12,
            0,
            None,
        );
        check(
            ReplyFormat::CodexLines,
            concat!(
                r#"{"type":"thread.started","thread_id":"t"}"#,
                "\nnot json\n",
                r#"{"type":"item.completed","item":{"type":"reasoning","text":"hm"}}"#,
                "\n",
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"first"}}"#,
                "\n",
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"last"}}"#,
                "\n",
                r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":80,"output_tokens":9}}"#,
                "\n"
            ),
            Some("last"),
            109,
            0,
            None,
        );
        check(
            ReplyFormat::CodexLines,
            r#"{"type":"turn.failed","error":{"message":"no credit"}}"#,
            None,
            0,
            0,
            Some("no credit"),
        );
        check(
            ReplyFormat::OpencodeLines,
            concat!(
                r#"{"type":"text","part":{"text":"hello"}}"#,
                "\n",
                r#"{"type":"step_finish","part":{"cost":0.5,"tokens":{"input":10,"output":3,"reasoning":1,"cache":{"read":2,"write":4}}}}"#
            ),
            Some("hello"),
            20,
            500_000,
            None,
        );
    }

    #[test]
    fn what_makes_no_sense_is_no_reply() {
        for form in [
            ReplyFormat::ResultDocument,
            ReplyFormat::GeminiDocument,
            ReplyFormat::CodexLines,
            ReplyFormat::OpencodeLines,
        ] {
            for printed in ["", "plain words", "[1]", "{\"usage\":3}", "{", "null", "{\"type\":7}"] {
                assert_eq!(read(form, printed, 3), None, "{form:?} {printed}");
            }
            let endless = "x".repeat(MAX_READ_BYTES + 10);
            assert_eq!(read(form, &endless, 64 * 1024), None);
        }
        let wild = r#"{"result":"x","total_cost_usd":-1e300,"usage":{"input_tokens":18446744073709551615}}"#;
        check(ReplyFormat::ResultDocument, wild, Some("x"), 0, 0, None);
    }
}
