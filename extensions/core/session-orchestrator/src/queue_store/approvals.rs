//! Questions to people and remembered answers as rows: the first answer counts, whichever process it comes from.

use super::{QUESTION_TOPIC, QueueStore};
use crate::contract::{
    Answer, Answerer, ApprovalError, ApprovalId, ApprovalRecord, ApprovalRequest, ApprovalState, PermissionGrant,
};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Record, SqlValue, Statement, StorageError, Transaction};
use dispatch_durable_queue::transact;
use ext_conversation_store::contract::MAX_PAGE;
use std::path::Path;

/// The step that makes the tables.
pub(super) const MIGRATION: Migration = Migration::new(
    3,
    "questions and remembered answers",
    &[
        "CREATE TABLE approvals (
            id TEXT PRIMARY KEY,
            session TEXT NOT NULL,
            turn TEXT NOT NULL,
            state TEXT NOT NULL,
            request TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            reason TEXT,
            answered_by TEXT,
            answered_from TEXT,
            answered_at INTEGER
        )",
        "CREATE INDEX approvals_open ON approvals (session) WHERE state = 'open'",
        "CREATE INDEX approvals_asked ON approvals (asked_at)",
        "CREATE TABLE permission_grants (
            id TEXT PRIMARY KEY,
            workspace TEXT NOT NULL,
            permission TEXT NOT NULL,
            target TEXT NOT NULL,
            granted_by TEXT NOT NULL,
            granted_from TEXT NOT NULL,
            granted_at INTEGER NOT NULL,
            UNIQUE (workspace, permission, target)
        )",
    ],
);

const GRANT: &str = "id, workspace, permission, target, granted_by, granted_from, granted_at";
/// A question is open only while the turn that asks it runs: what a crash leaves needs no tidying up.
const OPEN: &str = "FROM approvals a JOIN session_leases s ON s.session = a.session AND s.running_turn = a.turn
                    WHERE a.state = 'open' AND a.expires_at > ?1";

/// What an asker finds.
pub(crate) enum QuestionStanding {
    Open,
    /// The call may run, or why it must not.
    Settled(Result<(), String>),
}

impl QueueStore {
    /// Stores a question.
    pub(crate) async fn ask(&self, session: &str, request: &ApprovalRequest) -> Result<(), StorageError> {
        let text = serde_json::to_string(request).map_err(unwritable)?;
        let insert = statement!(
            "INSERT INTO approvals (id, session, turn, state, request, asked_at, expires_at)
             VALUES (?1, ?2, ?3, 'open', ?4, ?5, ?6)",
            &request.id.0,
            session,
            &request.turn,
            text,
            request.at_ms,
            request.expires_at_ms
        );
        transact(self.storage(), question_key(&request.id), move |tx| tx.execute(&insert).map(drop)).await?;
        self.announce(QUESTION_TOPIC);
        Ok(())
    }

    /// What became of a question.
    pub(crate) async fn question(&self, id: &ApprovalId) -> Result<QuestionStanding, StorageError> {
        let query = statement!("SELECT state, reason FROM approvals WHERE id = ?1", &id.0);
        let found = self.storage.query(query).await?;
        let Some(record) = found.first() else { return Ok(QuestionStanding::Open) };
        Ok(match state(record.text(0)?)? {
            ApprovalState::Open => QuestionStanding::Open,
            ApprovalState::Allowed => QuestionStanding::Settled(Ok(())),
            ApprovalState::Denied => QuestionStanding::Settled(Err(said_no(record.optional_text(1)?))),
            ApprovalState::Expired | ApprovalState::Withdrawn => {
                QuestionStanding::Settled(Err(record.optional_text(1)?.unwrap_or_default().to_owned()))
            }
        })
    }

    /// Ends a question that nobody answered; says whether it was still open.
    pub(crate) async fn end_question(
        &self,
        id: &ApprovalId,
        end: ApprovalState,
        reason: &str,
        now_ms: u64,
    ) -> Result<bool, StorageError> {
        let update = statement!(
            "UPDATE approvals SET state = ?2, reason = ?3, answered_at = ?4 WHERE id = ?1 AND state = 'open'",
            &id.0,
            end.word(),
            reason,
            now_ms
        );
        let was_open = transact(self.storage(), question_key(id), move |tx| Ok(tx.execute(&update)? > 0)).await?;
        self.announce(QUESTION_TOPIC);
        Ok(was_open)
    }

    /// The open questions of one session or of all, oldest first.
    pub(crate) async fn open_questions(
        &self,
        session: Option<&str>,
        now_ms: u64,
    ) -> Result<Vec<ApprovalRequest>, StorageError> {
        let mut values = vec![SqlValue::from(now_ms), SqlValue::from(MAX_PAGE)];
        let mut test = String::new();
        if let Some(label) = session {
            values.push(SqlValue::from(label));
            test.push_str(" AND s.label = ?3");
        }
        let sql = format!("SELECT a.request, s.label {OPEN}{test} ORDER BY a.asked_at, a.id LIMIT ?2");
        let found = self.storage.query(Statement::new(sql, values)).await?;
        found.iter().map(|record| request(record, record.text(1)?)).collect()
    }

    /// The last questions with their answers, newest first.
    pub(crate) async fn recent_questions(&self, limit: u32) -> Result<Vec<ApprovalRecord>, StorageError> {
        let query = statement!(
            "SELECT a.request, s.label, a.state, a.reason, a.answered_by, a.answered_from, a.answered_at, s.running_turn
             FROM approvals a JOIN session_leases s ON s.session = a.session
             ORDER BY a.asked_at DESC, a.id LIMIT ?1",
            limit.min(MAX_PAGE)
        );
        let found = self.storage.query(query).await?;
        found.iter().map(approval_record).collect()
    }

    /// Answers a question if it is still open, and remembers the answer if that is asked for.
    pub(crate) async fn answer_question(
        &self,
        id: &ApprovalId,
        answer: Answer,
        by: Answerer,
        grant_id: String,
        now_ms: u64,
    ) -> Result<ApprovalRequest, ApprovalError> {
        let id = id.clone();
        let keys = question_key(&id);
        let asked =
            transact(self.storage(), keys, move |tx| answer_in(tx, &id, &answer, &by, &grant_id, now_ms)).await?;
        self.announce(QUESTION_TOPIC);
        Ok(asked)
    }

    /// The remembered answers of one workspace or of all, oldest first.
    pub(crate) async fn grants(&self, workspace: Option<&Path>) -> Result<Vec<PermissionGrant>, StorageError> {
        let mut values = vec![SqlValue::from(MAX_PAGE)];
        let mut test = "";
        if let Some(workspace) = workspace {
            values.push(SqlValue::from(workspace.to_string_lossy().into_owned()));
            test = "WHERE workspace = ?2";
        }
        let sql = format!("SELECT {GRANT} FROM permission_grants {test} ORDER BY granted_at, id LIMIT ?1");
        let found = self.storage.query(Statement::new(sql, values)).await?;
        found.iter().map(grant).collect()
    }

    /// Forgets a remembered answer.
    pub(crate) async fn revoke(&self, id: &str) -> Result<PermissionGrant, ApprovalError> {
        let id = id.to_owned();
        transact(self.storage(), Keys::of([format!("permission:{id}")]), move |tx| {
            let sql = format!("SELECT {GRANT} FROM permission_grants WHERE id = ?1");
            let found = tx.query(&statement!(sql, &id))?;
            let known = found.first().map(grant).transpose()?.ok_or_else(|| ApprovalError::NoGrant(id.clone()))?;
            tx.execute(&statement!("DELETE FROM permission_grants WHERE id = ?1", &id))?;
            Ok(known)
        })
        .await
    }
}

/// What the model is told of a person's no.
fn said_no(reason: Option<&str>) -> String {
    match reason.filter(|reason| !reason.trim().is_empty()) {
        Some(reason) => format!("The user said no: {reason}"),
        None => "The user said no.".to_owned(),
    }
}

/// What a change of one question works on.
fn question_key(id: &ApprovalId) -> Keys {
    Keys::of([format!("question:{}", id.0)])
}

fn answer_in(
    tx: &mut dyn Transaction,
    id: &ApprovalId,
    answer: &Answer,
    by: &Answerer,
    grant_id: &str,
    now_ms: u64,
) -> Result<ApprovalRequest, ApprovalError> {
    let not_open = || ApprovalError::NotOpen(id.clone());
    let found = tx.query(&statement!(format!("SELECT a.request, s.label {OPEN} AND a.id = ?2"), now_ms, &id.0))?;
    let record = found.first().ok_or_else(not_open)?;
    let asked = request(record, record.text(1)?)?;
    let (end, reason) = match answer {
        Answer::Allow { .. } => (ApprovalState::Allowed, None),
        Answer::Deny { reason } => (ApprovalState::Denied, reason.as_deref()),
    };
    // The condition decides between two that answer at once.
    let changed = tx.execute(&statement!(
        "UPDATE approvals SET state = ?2, reason = ?3, answered_by = ?4, answered_from = ?5, answered_at = ?6
         WHERE id = ?1 AND state = 'open'",
        &id.0,
        end.word(),
        reason,
        &by.who,
        &by.from,
        now_ms
    ))?;
    if changed == 0 {
        return Err(not_open());
    }
    if *answer == (Answer::Allow { remember: true }) {
        for (number, form) in asked.remember.iter().enumerate() {
            remember(tx, &asked, form, by, &format!("{grant_id}-{number}"), now_ms)?;
        }
    }
    Ok(asked)
}

fn remember(
    tx: &mut dyn Transaction,
    asked: &ApprovalRequest,
    form: &str,
    by: &Answerer,
    id: &str,
    now_ms: u64,
) -> Result<(), StorageError> {
    tx.execute(&statement!(
        format!(
            "INSERT INTO permission_grants ({GRANT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (workspace, permission, target) DO NOTHING"
        ),
        id,
        asked.workspace.to_string_lossy().into_owned(),
        &asked.call.name,
        form,
        &by.who,
        &by.from,
        now_ms
    ))?;
    Ok(())
}

/// The question of a record that begins with it; the session may have another label since.
fn request(record: &Record, label: &str) -> Result<ApprovalRequest, StorageError> {
    let asked: ApprovalRequest = serde_json::from_str(record.text(0)?)
        .map_err(|error| StorageError::Corrupt(format!("a question cannot be read: {error}")))?;
    Ok(ApprovalRequest { session: label.to_owned(), ..asked })
}

fn approval_record(record: &Record) -> Result<ApprovalRecord, StorageError> {
    let asked = request(record, record.text(1)?)?;
    let turn_runs = record.optional_text(7)? == Some(asked.turn.as_str());
    let state = match state(record.text(2)?)? {
        ApprovalState::Open if !turn_runs => ApprovalState::Withdrawn,
        state => state,
    };
    let answered = match (record.optional_text(4)?, record.optional_text(5)?) {
        (Some(who), Some(from)) => Some(Answerer { who: who.to_owned(), from: from.to_owned() }),
        _ => None,
    };
    Ok(ApprovalRecord {
        request: asked,
        state,
        reason: record.optional_text(3)?.map(str::to_owned),
        answered,
        answered_at_ms: record.optional_unsigned(6)?,
    })
}

fn grant(record: &Record) -> Result<PermissionGrant, StorageError> {
    Ok(PermissionGrant {
        id: record.text(0)?.to_owned(),
        folder: record.text(1)?.into(),
        permission: record.text(2)?.to_owned(),
        target: record.text(3)?.to_owned(),
        granted: Answerer { who: record.text(4)?.to_owned(), from: record.text(5)?.to_owned() },
        at_ms: record.unsigned(6)?,
    })
}

fn state(word: &str) -> Result<ApprovalState, StorageError> {
    use ApprovalState::{Allowed, Denied, Expired, Open, Withdrawn};
    let known = [Open, Allowed, Denied, Expired, Withdrawn].into_iter().find(|state| state.word() == word);
    known.ok_or_else(|| StorageError::Corrupt(format!("a question is in the unknown state `{word}`")))
}

fn unwritable(error: serde_json::Error) -> StorageError {
    StorageError::GivenUp(format!("the question cannot be written: {error}"))
}
