//! One message from its submission to the end of its turn: followed, shown, asked about, cancelled.

use super::asking::{answer, prompt, question};
use super::display::Display;
use super::keyboard::{Keyboard, TypedLine};
use super::outcome::TurnReport;
use crate::app::Status;
use crate::failure::Failure;
use crate::paint::Paint;
use crate::printer::{Format, Printer};
use crate::stopping::Interrupts;
use dispatch_os::environment::user_name;
use dispatch_os::terminal::take_typed_lines;
use ext_session_orchestrator::contract::{
    Answerer, ApprovalRequest, Approvals, Ask, DispatchId, DispatchView, SessionEvent, SessionNews, Sessions,
    SessionsError, Submission,
};
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long the last rows of a turn that ran in another process are waited for.
const LAST_ROWS: Duration = Duration::from_secs(2);

/// What messages are sent and followed with.
pub(super) struct MessageSender<'a> {
    pub(super) sessions: Arc<dyn Sessions>,
    pub(super) approvals: Arc<dyn Approvals>,
    /// Opened with the first question.
    pub(super) keyboard: Option<Keyboard>,
    /// Lines that a person typed while a turn ran: they are said next.
    pub(super) typed_early: VecDeque<String>,
    pub(super) workdir: PathBuf,
    pub(super) printer: &'a Printer,
    pub(super) format: Format,
}

/// How following a message ended.
pub(super) enum FollowResult {
    Over(TurnReport),
    /// The person did not want to wait for the end.
    Left,
}

/// A question that the person is thinking about.
struct OpenQuestion {
    request: ApprovalRequest,
    typed: JoinHandle<TypedLine>,
}

/// One message on its way.
struct FollowedMessage<'t, 'a> {
    turns: &'t mut MessageSender<'a>,
    dispatch: DispatchId,
    asks: Ask,
    outcome: TurnReport,
    display: Display<'a>,
    open: Option<OpenQuestion>,
    /// What happened while a question is open: nothing may be printed over the prompt.
    deferred: VecDeque<SessionNews>,
    cancelling: bool,
}

impl<'a> MessageSender<'a> {
    /// Sends a message and stays with it until its turn is over.
    pub(super) async fn say(&mut self, submission: Submission) -> Result<FollowResult, Failure> {
        let (label, asks) = (submission.session.clone(), submission.ask);
        let sessions = Arc::clone(&self.sessions);
        let mut interrupts = Interrupts::listen();
        let mut events = sessions.watch(&label, None).await.map_err(refused)?;
        let receipt = sessions.submit(submission).await.map_err(refused)?;
        let mut course = FollowedMessage {
            display: Display::new(self.printer),
            turns: self,
            outcome: TurnReport::new(&label),
            dispatch: receipt.dispatch.clone(),
            asks,
            open: None,
            deferred: VecDeque::new(),
            cancelling: false,
        };
        // News of a turn that runs in another process do not come here; its end is found in storage.
        let mut over = sessions.wait(&receipt.dispatch);
        loop {
            let asking = course.open.is_some();
            tokio::select! {
                biased;
                typed = typed(&mut course.open), if asking => course.answered(typed).await?,
                event = events.next() => match event {
                    Some(event) if asking => course.defer(event),
                    Some(event) => course.take(event.news)?,
                    None => return Err(Failure::internal("the session's event stream ended")),
                },
                view = &mut over, if !asking => {
                    course.catch_up(&mut events, &view.map_err(refused)?).await?;
                    return Ok(FollowResult::Over(course.outcome));
                }
                () = interrupts.next() => if course.interrupt().await? { return Ok(FollowResult::Left) },
            }
            if course.is_over() {
                return Ok(FollowResult::Over(course.outcome));
            }
        }
    }
}

/// What the person typed at the open question.
async fn typed(open: &mut Option<OpenQuestion>) -> TypedLine {
    match open {
        Some(open) => (&mut open.typed).await.unwrap_or(TypedLine::End),
        None => std::future::pending().await,
    }
}

impl FollowedMessage<'_, '_> {
    fn is_over(&self) -> bool {
        self.open.is_none() && self.outcome.is_over()
    }

    fn defer(&mut self, event: SessionEvent) {
        if let (SessionNews::Settled { id }, Some(open)) = (&event.news, &self.open)
            && *id == open.request.id
        {
            self.turns.printer.note("\n  (this question was settled elsewhere; press enter)");
        }
        self.deferred.push_back(event.news);
    }

    fn take(&mut self, news: SessionNews) -> Result<(), Failure> {
        if self.turns.format == Format::Text {
            self.display.show(&news);
        }
        match news {
            SessionNews::Dispatch { dispatch } if dispatch.id == self.dispatch => self.outcome.note(&dispatch),
            SessionNews::Row { row } => self.outcome.add(&row),
            SessionNews::Asked { request } if self.asks == Ask::Person => self.ask(request)?,
            _ => {}
        }
        Ok(())
    }

    fn ask(&mut self, request: ApprovalRequest) -> Result<(), Failure> {
        self.display.note(&question(&request, &self.turns.workdir, Paint::for_stderr()));
        let keyboard = match &self.turns.keyboard {
            Some(keyboard) => keyboard.clone(),
            None => self.turns.keyboard.insert(Keyboard::open()?).clone(),
        };
        // What was typed before the question is no answer to it, but it was meant for somebody.
        self.turns.typed_early.extend(take_typed_lines());
        let typed = keyboard.ask(prompt(&request));
        self.open = Some(OpenQuestion { request, typed });
        Ok(())
    }

    /// Hands the answer over and shows what happened meanwhile, up to the next question.
    async fn answered(&mut self, typed: TypedLine) -> Result<(), Failure> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let word = match &typed {
            TypedLine::Line(line) => line.as_str(),
            TypedLine::Interrupted | TypedLine::End => "no",
        };
        let by = Answerer { who: user_name(), from: "chat".to_owned() };
        // Somebody else may have answered first, or the turn may be over: then there is nothing to hand over.
        if let Err(error) = self.turns.approvals.answer(&open.request.id, answer(word), by).await {
            self.display.note(&format!("  {error}"));
        }
        if typed == TypedLine::Interrupted {
            self.interrupt().await?;
        }
        while self.open.is_none() {
            let Some(news) = self.deferred.pop_front() else { break };
            self.take(news)?;
        }
        Ok(())
    }

    /// The first press of ctrl-C stops the turn; the second says that the person leaves.
    async fn interrupt(&mut self) -> Result<bool, Failure> {
        if std::mem::replace(&mut self.cancelling, true) {
            return Ok(true);
        }
        self.display.note("stopping the turn; ctrl-C again leaves");
        self.turns.sessions.cancel(&self.dispatch).await.map_err(refused)?;
        Ok(false)
    }

    /// The dispatch is over in storage: what is left of its rows is on its way.
    async fn catch_up(
        &mut self,
        events: &mut ext_session_orchestrator::contract::SessionEvents,
        view: &DispatchView,
    ) -> Result<(), Failure> {
        while !self.outcome.is_over() && !self.outcome.has_end_of(view) {
            match tokio::time::timeout(LAST_ROWS, events.next()).await {
                Ok(Some(event)) => self.take(event.news)?,
                Ok(None) | Err(_) => break,
            }
        }
        self.display.end_line();
        self.outcome.note(view);
        Ok(())
    }
}

/// A refusal of the queue as a failure of the command.
pub(crate) fn refused(error: SessionsError) -> Failure {
    match error {
        SessionsError::Invalid(_) | SessionsError::Unknown { .. } => Failure::of(Status::Usage, &error),
        SessionsError::Full { .. } => {
            Failure::of(Status::Usage, &error).hint("`dispatch queue show` shows what waits, `queue cancel` takes back")
        }
        SessionsError::Draining | SessionsError::Conversation(_) | SessionsError::Storage(_) => {
            Failure::of(Status::Internal, &error)
        }
    }
}
