//! Asking the person at the terminal whether a call may run.

use crate::plain::one_line;
use crate::printer::Printer;
use ext_session_orchestrator::contract::{Answer, ApprovalRequest, Approvals};
use std::io::{BufRead, IsTerminal};

/// The longest line of a question.
const LINE_CHARS: usize = 200;

/// Whether a person can be asked: both ends of the conversation are a terminal.
pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Shows the question and hands over the answer.
pub(super) async fn ask_person(approvals: &dyn Approvals, request: &ApprovalRequest, printer: &Printer) {
    printer.note(&question(request));
    let typed = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    let answer = match typed.await {
        Ok(Ok(line)) => answer(&line),
        _ => Answer::Deny { reason: None },
    };
    // Somebody else may have answered first, or the turn may be over: then there is nothing to hand over.
    let _ = approvals.answer(&request.id, answer).await;
}

/// What a person reads.
pub(super) fn question(request: &ApprovalRequest) -> String {
    let arguments = serde_json::to_string(&request.call.arguments).unwrap_or_default();
    let mut lines = vec![format!("? {} {}", request.call.name, one_line(&arguments, LINE_CHARS))];
    lines.extend(
        request.questions.iter().map(|asked| format!("  {}: {}", asked.code, one_line(&asked.reason, LINE_CHARS))),
    );
    lines.push("  allow it? [y]es, [a]lways in this session, [N]o".to_owned());
    lines.join("\n")
}

/// What a typed line means; anything unclear is a no.
pub(super) fn answer(line: &str) -> Answer {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Once,
        "a" | "always" => Answer::Session,
        _ => Answer::Deny { reason: None },
    }
}
