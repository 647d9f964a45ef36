//! Turns the result of a fold into what is written: records, prompts, artifacts, state.

use dispatch_hook_dialects::Answer;
use dispatch_hook_module::digest::sha256_of_json;
use dispatch_hook_module::phase::kind_name;
use dispatch_hook_module::state::merge;
use dispatch_hook_module::{Decision, Record, RecordType, milliseconds};
use dispatch_os::Ulid;
use dispatch_toolcall::ToolCall;
use serde_json::{Map, Value, json};

use super::EventRun;
use super::open::OpenSession;
use super::refusal::TIME_CODE;
use super::setup::Setup;
use super::subject::subject_of;
use crate::config::PromptAudit;
use crate::delivery::store_answer;
use crate::pipeline::{Folded, Said};
use crate::report::module_reports;
use crate::session_files::Batch;

/// The name under which the pipeline itself speaks.
pub(super) const PIPELINE: &str = "pipeline";
/// The session of the calls that `dispatch canary` makes.
const CANARY_SESSION: &str = "canary";
/// What a record shows of a prompt; all of it is in `p.jsonl`.
const EXCERPT_CHARS: usize = 400;
const PROMPT_LIMIT_BYTES: usize = 64 * 1024;
/// What a record that is made in advance shows of a name from outside.
const NAME_CHARS: usize = 200;

pub(super) struct Account<'a> {
    pub(super) run: &'a EventRun<'a>,
    pub(super) session: &'a OpenSession<'a>,
    pub(super) setup: &'a Setup,
}

impl Account<'_> {
    /// Everything that a decision leaves behind; the `HOOK_RUN` record comes last.
    pub(super) fn batch(&self, folded: Folded, call: Option<&ToolCall>, key: Option<String>, answer: &Answer) -> Batch {
        let mut batch = Batch::default();
        for said in &folded.records {
            let is_keeper = folded.session_keeper.as_deref() == Some(said.module.as_str());
            let is_prompt = is_keeper && said.what.kind == RecordType::Prompt;
            let mut data = said.what.data.clone();
            if is_prompt {
                batch.prompts.push(self.audit_line(&mut data));
            }
            batch.records.push(self.record(said.what.kind.clone(), &said.module, data));
        }
        for said in &folded.excused {
            let exception = &said.what;
            let until = dispatch_os::time::rfc3339(exception.until);
            let data = json!({"code": exception.code, "until": until, "reason": exception.reason});
            batch.records.push(self.record(RecordType::ExceptionUsed, &said.module, data));
        }
        let (patch, rejected) = self.state_patch(&folded.patches);
        let own = self.setup.problems.iter().chain(&rejected).map(|problem| (PIPELINE, problem));
        let warnings = own.chain(folded.warnings.iter().map(|said| (said.module.as_str(), &said.what)));
        let warnings: Vec<Record> = warnings
            .map(|(module, message)| self.record(RecordType::Warning, module, json!({ "message": message })))
            .collect();
        batch.records.extend(warnings);
        batch.records.push(self.hook_run(&folded, call, key, answer, patch.clone()));
        batch.registry = folded.artifacts.iter().map(|said| self.artifact(said)).collect();
        batch.patches = self.rebuilt().into_iter().chain(patch).collect();
        batch.files = folded.files;
        batch.log = folded.log;
        batch
    }

    /// A second delivery: one record, and nothing else.
    pub(super) fn repetition(&self, first: &Record, answer: &Answer) -> Batch {
        let data = json!({
            "decision": answer.decision.as_str(),
            "reason": answer.reason,
            "code": answer.code,
            "host": self.run.event.host,
            "tool": self.run.event.tool_name,
            "toolUseId": self.run.event.tool_use_id,
            "redelivered": true,
            "first": first.hook_run_id,
        });
        let mut record = self.record(RecordType::HookRun, PIPELINE, data);
        record.decision = Some(answer.decision);
        record.ms = Some(milliseconds(self.run.invocation.clock.elapsed()));
        Batch { records: vec![record], ..Batch::default() }
    }

    /// Prepares the record of this run in case time runs out before it is written.
    pub(super) fn prepare_record(&self, decision: Decision) {
        if let Some(line) = self.line_out_of_time(decision, None) {
            self.run.invocation.watch.prepare_record(&self.run.paths.events_file(), &line);
        }
    }

    /// Prepares the record of a call that no guard got to.
    pub(super) fn prepare_unjudged_record(&self) {
        if let Some(line) = self.line_out_of_time(Decision::Deny, Some(TIME_CODE)) {
            self.run.invocation.watch.prepare_unjudged_record(&self.run.paths.events_file(), &line);
        }
    }

    fn line_out_of_time(&self, decision: Decision, code: Option<&str>) -> Option<Vec<u8>> {
        self.session.folder.as_ref()?;
        let short = |text: &Option<String>| text.as_ref().map(|text| text.chars().take(NAME_CHARS).collect::<String>());
        let mut data = json!({
            "decision": decision.as_str(),
            "host": self.run.event.host,
            "tool": short(&self.run.event.tool_name),
            "toolUseId": short(&self.run.event.tool_use_id),
            "outOfTime": true,
        });
        if let (Some(code), Some(fields)) = (code, data.as_object_mut()) {
            fields.insert("code".to_owned(), code.into());
        }
        self.setup.config.redactor().redact_json(&mut data);
        let mut record = self.record(RecordType::HookRun, PIPELINE, data);
        record.decision = Some(decision);
        record.ms = Some(milliseconds(std::time::Duration::from_millis(self.run.budget_ms)));
        Some(serde_json::to_vec(&record).unwrap_or_default())
    }

    fn record(&self, kind: RecordType, module: &str, data: Value) -> Record {
        let id = Ulid::generate().to_string();
        let event = self.run.event.name.as_str();
        Record::new(id, self.session.ts.clone(), &self.session.ids, event, kind, module, data)
    }

    /// The line for `p.jsonl`; the record keeps the beginning of the text only.
    fn audit_line(&self, data: &mut Value) -> Value {
        let ids = &self.session.ids;
        let mut line = json!({
            "ts": self.session.ts,
            "hookRunId": ids.hook_run_id,
            "sessionId": ids.session_id,
            "workId": ids.work_id,
            "turnId": ids.turn_id,
            "sha256": data["sha256"],
            "chars": data["chars"],
        });
        let Some(fields) = data.as_object_mut() else {
            return line;
        };
        let Some(Value::String(text)) = fields.shift_remove("text") else {
            return line;
        };
        if self.setup.config.prompts == PromptAudit::Text {
            // Cut after redaction: a secret that is cut in half is no longer recognised.
            let text = self.setup.config.redactor().redact(&text).into_owned();
            let excerpt: String = text.chars().take(EXCERPT_CHARS).collect();
            fields.insert("text".to_owned(), excerpt.into());
            let end = text.floor_char_boundary(PROMPT_LIMIT_BYTES.min(text.len()));
            line["text"] = text.get(..end).unwrap_or_default().into();
        }
        line
    }

    fn artifact(&self, said: &Said<dispatch_hook_module::Artifact>) -> Value {
        let ids = &self.session.ids;
        let mut line = json!({
            "ts": self.session.ts,
            "hookRunId": ids.hook_run_id,
            "sessionId": ids.session_id,
            "workId": ids.work_id,
            "agentId": ids.agent_id,
            "turnId": ids.turn_id,
            "module": said.module,
        });
        let artifact = serde_json::to_value(&said.what).unwrap_or_default();
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), artifact) {
            for (key, value) in fields {
                line.entry(key).or_insert(value);
            }
        }
        line
    }

    /// All patches as one, if they change anything, and what was wrong with them.
    fn state_patch(&self, patches: &[Said<Value>]) -> (Option<Value>, Vec<String>) {
        let mut rejected = Vec::new();
        let mut state = self.session.state.clone();
        let mut whole = Value::Object(Map::new());
        for said in patches {
            let (next, problems) = merge(&state, &said.what);
            rejected.extend(problems.iter().map(|problem| format!("{}: {problem}", said.module)));
            state = next;
            compose(&mut whole, &said.what);
        }
        let changed = state != self.session.state;
        settle(&mut whole, &state.to_value());
        (changed.then_some(whole), rejected)
    }

    /// What the log told when there was no snapshot; it goes into the new one.
    fn rebuilt(&self) -> Option<Value> {
        self.session.rebuilt.then(|| self.session.state.to_value())
    }

    fn hook_run(
        &self,
        folded: &Folded,
        call: Option<&ToolCall>,
        key: Option<String>,
        answer: &Answer,
        patch: Option<Value>,
    ) -> Record {
        let event = self.run.event;
        let mut data = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                data.insert(name.to_owned(), value);
            }
        };
        put("decision", folded.decision.as_str().into());
        put("reason", json!(folded.reason));
        put("code", json!(folded.code));
        put("decidedBy", json!(folded.decided_by));
        // One finding is the reason itself.
        if folded.findings.len() > 1 {
            put("findings", json!(folded.findings.iter().map(|said| &said.what).collect::<Vec<_>>()));
        }
        put("grant", if folded.grant { true.into() } else { Value::Null });
        put("modules", json!(module_reports(folded)));
        put("host", event.host.into());
        put("tool", json!(event.tool_name));
        put("toolKind", json!(call.map(|call| kind_name(call.kind))));
        put("toolUseId", json!(event.tool_use_id));
        if !event.tool_input.is_null() {
            let before = sha256_of_json(&event.tool_input);
            let after = folded.updated_input.as_ref().map_or_else(|| before.clone(), sha256_of_json);
            put("inputHash", before.into());
            put("finalInputHash", after.into());
        }
        put("rewrittenBy", json!(folded.rewritten_by));
        put("updatedInput", json!(folded.updated_input));
        let is_canary = event.session_id.as_deref() == Some(CANARY_SESSION);
        put("canary", if is_canary { true.into() } else { Value::Null });
        put("stamps", non_empty(folded.metadata.clone()));
        put("metrics", non_empty(folded.metrics.clone()));
        put("outOfTimeAt", json!(folded.out_of_time_at));
        put("statePatch", patch.unwrap_or_default());
        put("subject", subject_of(event));
        if key.is_some() {
            put("answer", self.storable(answer));
        }
        let mut record = self.record(RecordType::HookRun, PIPELINE, Value::Object(data));
        record.decision = Some(folded.decision);
        record.ms = Some(milliseconds(self.run.invocation.clock.elapsed()));
        record.delivery = key;
        record
    }

    /// The answer for a second delivery, unless redaction would change it: then it is worked out again.
    fn storable(&self, answer: &Answer) -> Value {
        let stored = store_answer(answer);
        let mut redacted = stored.clone();
        self.setup.config.redactor().redact_json(&mut redacted);
        if redacted == stored { stored } else { Value::Null }
    }
}

fn non_empty(map: Map<String, Value>) -> Value {
    if map.is_empty() { Value::Null } else { Value::Object(map) }
}

/// Leaves in a patch what the patches came to: a field with a rule may have refused what one of them said.
fn settle(patch: &mut Value, state: &Value) {
    let Value::Object(fields) = patch else {
        return;
    };
    fields.retain(|key, value| match (state.get(key), value) {
        (None, value) => value.is_null(),
        (Some(kept), value) if kept.is_object() && value.is_object() => {
            settle(value, kept);
            true
        }
        (Some(kept), value) => {
            value.clone_from(kept);
            true
        }
    });
}

/// Two merge patches in a row as one: what the later one says holds, and removals stay removals.
fn compose(whole: &mut Value, patch: &Value) {
    match (whole, patch) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (key, change) in changes {
                match fields.get_mut(key) {
                    Some(existing) if existing.is_object() && change.is_object() => compose(existing, change),
                    _ => {
                        fields.insert(key.clone(), change.clone());
                    }
                }
            }
        }
        (whole, patch) => *whole = patch.clone(),
    }
}
