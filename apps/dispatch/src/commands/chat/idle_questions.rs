//! Questions of other processes that come while a person is at the prompt: shown above it, answered by the next line.

use super::asking::{answer_at_prompt, notice, question};
use super::keyboard::{Keyboard, TypedLine};
use crate::paint::Paint;
use crate::printer::Printer;
use dispatch_os::environment::user_name;
use ext_session_orchestrator::contract::{Answerer, ApprovalRequest, Approvals, SessionEvents, SessionNews, Sessions};
use futures_util::StreamExt;
use std::path::Path;
use tokio::task::JoinHandle;

/// What a person was shown at the prompt and has not answered, oldest first.
#[derive(Default)]
pub(super) struct IdleQuestions {
    shown: Vec<ApprovalRequest>,
}

/// Where questions come from and where they are shown.
pub(super) struct IdlePrompt<'a> {
    pub(super) sessions: &'a dyn Sessions,
    pub(super) session: &'a str,
    pub(super) keyboard: &'a Keyboard,
    pub(super) workdir: &'a Path,
}

impl IdleQuestions {
    /// Waits for the line that is being typed and shows what is asked meanwhile.
    pub(super) async fn read(&mut self, prompt: IdlePrompt<'_>, mut typed: JoinHandle<TypedLine>) -> TypedLine {
        // A session that cannot be followed now is followed by the next prompt.
        let mut news = prompt.sessions.watch(prompt.session, None).await.ok();
        loop {
            tokio::select! {
                biased;
                typed = &mut typed => return typed.unwrap_or(TypedLine::End),
                news = next(&mut news) => self.hear(&prompt, news),
            }
        }
    }

    fn hear(&mut self, prompt: &IdlePrompt<'_>, news: SessionNews) {
        match news {
            SessionNews::Asked { request } if !self.shown.iter().any(|known| known.id == request.id) => {
                let asked = question(&request, prompt.workdir, Paint::for_stderr());
                prompt.keyboard.show_above(&format!("{asked}\n{}", notice(&request)));
                self.shown.push(request);
            }
            SessionNews::Settled { id } => {
                let before = self.shown.len();
                self.shown.retain(|known| known.id != id);
                if self.shown.len() < before {
                    prompt.keyboard.show_above("  (this question was settled elsewhere)");
                }
            }
            _ => {}
        }
    }

    /// Takes a line that answers the oldest question; says whether it did.
    pub(super) async fn answer(&mut self, line: &str, approvals: &dyn Approvals, printer: &Printer) -> bool {
        let (Some(answer), Some(asked)) = (answer_at_prompt(line), self.shown.first()) else { return false };
        let by = Answerer { who: user_name(), from: "chat".to_owned() };
        if let Err(error) = approvals.answer(&asked.id, answer, by).await {
            printer.note(&format!("  {error}"));
        }
        self.shown.remove(0);
        true
    }

    /// The person went on to a message: its turn asks again what is still open.
    pub(super) fn forget(&mut self) {
        self.shown.clear();
    }
}

async fn next(news: &mut Option<SessionEvents>) -> SessionNews {
    match news {
        Some(events) => match events.next().await {
            Some(event) => event.news,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}
