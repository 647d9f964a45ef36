//! What a person is asked about a tool call, and what their answer means. Pure but for the look at the file
//! that a call would replace.

use super::change::preview;
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use ext_session_orchestrator::contract::{Answer, ApprovalRequest};
use std::io::IsTerminal;
use std::path::Path;

/// The longest line of a question.
const LINE_CHARS: usize = 200;

/// What stands before the cursor.
pub(super) fn prompt(request: &ApprovalRequest) -> String {
    let always = match request.remember.as_slice() {
        [] => String::new(),
        forms => format!(" [a]lways `{}` here,", one_line(&forms.join("`, `"), LINE_CHARS)),
    };
    format!("  allow it? [y]es,{always} no and why, [N]o: ")
}

/// What stands below a question that came while the person was typing something else.
pub(super) fn notice(request: &ApprovalRequest) -> String {
    let always = match request.remember.as_slice() {
        [] => String::new(),
        forms => format!(", `a` always allows `{}` here", one_line(&forms.join("`, `"), LINE_CHARS)),
    };
    format!("  `y` allows it{always}, `n` and a reason refuses it; anything else is a message")
}

/// What a line at the prompt for messages says to the question above it; nothing if it is a message.
pub(super) fn answer_at_prompt(line: &str) -> Option<Answer> {
    let first = line.trim().split([' ', ',', ':']).next().unwrap_or_default().to_lowercase();
    let is_answer = match first.as_str() {
        "y" | "yes" | "a" | "always" => line.trim().len() == first.len(),
        "n" | "no" => true,
        _ => false,
    };
    is_answer.then(|| answer(line))
}

/// Whether a person can be asked: both ends of the conversation are a terminal.
pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// What a person reads: the call, what it would change, and who wants to know.
pub(super) fn question(request: &ApprovalRequest, workdir: &Path, paint: Paint) -> String {
    let call = &request.call;
    let about = match request.targets.is_empty() {
        false => request.targets.join(", "),
        true => serde_json::to_string(&call.arguments).unwrap_or_default(),
    };
    let name = paint.text(Tone::Name, &one_line(&call.name, LINE_CHARS));
    let mut lines = vec![format!("? {name} {}", one_line(&about, LINE_CHARS))];
    lines.extend(preview(call, workdir).into_iter().map(|line| {
        let tone = match line.chars().next() {
            Some('+') => Tone::Good,
            Some('-') => Tone::Bad,
            _ => Tone::Faint,
        };
        format!("    {}", paint.text(tone, &line))
    }));
    lines.extend(
        request.questions.iter().map(|asked| format!("  {}: {}", asked.code, one_line(&asked.reason, LINE_CHARS))),
    );
    lines.join("\n")
}

/// What a typed line means; anything unclear is a no, and the model reads the words.
pub(super) fn answer(line: &str) -> Answer {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "y" | "yes" => Answer::Allow { remember: false },
        "a" | "always" => Answer::Allow { remember: true },
        "" | "n" | "no" => Answer::Deny { reason: None },
        _ => {
            let (first, rest) = line.split_once([' ', ',', ':']).unwrap_or(("", line));
            let reason = if matches!(first.to_lowercase().as_str(), "n" | "no") { rest } else { line };
            Answer::Deny { reason: Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::conversation::ToolCall;
    use dispatch_contracts::hooks::Question;
    use ext_session_orchestrator::contract::{ApprovalId, DispatchId};
    use serde_json::json;

    #[test]
    fn only_a_clear_yes_is_one() {
        for yes in ["y", " Y \n", "yes"] {
            assert_eq!(answer(yes), Answer::Allow { remember: false }, "{yes:?}");
        }
        for always in ["a", "ALWAYS"] {
            assert_eq!(answer(always), Answer::Allow { remember: true }, "{always:?}");
        }
        for (no, reason) in [
            ("", None),
            ("n", None),
            ("no", None),
            ("ye", Some("ye")),
            ("no, use rg", Some("use rg")),
            ("n use rg", Some("use rg")),
            ("not that file", Some("not that file")),
        ] {
            assert_eq!(answer(no), Answer::Deny { reason: reason.map(str::to_owned) }, "{no:?}");
        }
    }

    #[test]
    fn a_message_is_not_taken_for_an_answer() {
        for message in ["", "yes please do", "a test of it", "nothing", "always use rg", "hello"] {
            assert_eq!(answer_at_prompt(message), None, "{message:?}");
        }
        assert_eq!(answer_at_prompt(" Y "), Some(Answer::Allow { remember: false }));
        assert_eq!(answer_at_prompt("always"), Some(Answer::Allow { remember: true }));
        assert_eq!(answer_at_prompt("n"), Some(Answer::Deny { reason: None }));
        assert_eq!(answer_at_prompt("no, not now"), Some(Answer::Deny { reason: Some("not now".to_owned()) }));
    }

    #[test]
    fn a_question_shows_the_change_and_obeys_nothing() {
        let arguments = json!({ "path": "a.txt", "old_text": "one\ntwo", "new_text": "one\nthree\u{1b}[2J" });
        let request = ApprovalRequest {
            id: ApprovalId("q".to_owned()),
            session: "main".to_owned(),
            dispatch: DispatchId::new("d"),
            turn: "t".into(),
            call: ToolCall {
                id: "c".into(),
                name: "edit_file".to_owned(),
                arguments: arguments.as_object().cloned().unwrap(),
            },
            targets: vec!["a.txt".to_owned()],
            summary: "edit_file a.txt".to_owned(),
            folder: "/nowhere".into(),
            workspace: "/nowhere".into(),
            remember: Vec::new(),
            expires_at_ms: 1,
            questions: vec![Question { code: "PERMISSION".to_owned(), reason: "it may change\nsomething".to_owned() }],
            at_ms: 0,
        };
        let shown = question(&request, Path::new("/nowhere"), Paint::of(false));
        let expected =
            "? edit_file a.txt\n      one\n    - two\n    + three\u{fffd}[2J\n  PERMISSION: it may change something";
        assert_eq!(shown, expected);
    }
}
