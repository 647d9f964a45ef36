//! A prompt answered by another agent's program.

use super::prompt::prompt;
use super::reply::ReplyReader;
use super::{KnownAgent, RunAttempt, child, ended, failed, known_agent};
use crate::contract::AgentTemplate;
use crate::run_executor::{RetryAdvice, RunEnd, RunResult};

const PLACE: &str = "{prompt}";

pub(super) async fn run(attempt: &RunAttempt<'_>, called: &AgentTemplate, text: &str) -> RunResult {
    let known = known_agent(&called.name);
    let words = match known {
        Some(template) => template.command.iter().map(|word| (*word).to_owned()).collect(),
        None => called.command.clone(),
    };
    call(attempt, words, known, text).await
}

/// Calls a program with these words; what a template knows of it goes beyond them.
pub(super) async fn call(
    attempt: &RunAttempt<'_>,
    words: Vec<String>,
    known: Option<&KnownAgent>,
    text: &str,
) -> RunResult {
    let prompt = match prompt(attempt, text) {
        Ok(prompt) => prompt,
        Err(end) => return ended(end),
    };
    let (words, stdin) = hand_over(words, prompt);
    let Some(mut spec) = child::spec(attempt, &words) else {
        return failed("the command of the agent is empty", RetryAdvice::Useless);
    };
    for name in known.map_or(&[][..], |template| template.login) {
        spec = spec.pass_variable(*name);
    }
    let reader = known.and_then(|template| ReplyReader::of(template.form));
    let (mut result, reply) = child::run(attempt, spec.stdin(stdin), reader).await;
    let Some(reply) = reply else { return result };
    result.usage = reply.usage;
    if let Some(answer) = reply.text {
        result.output = match result.end {
            RunEnd::Success => attempt.redactor.output(&answer),
            // What it printed says why.
            _ => attempt.redactor.output(&format!("{answer}\n\n{}", result.output)),
        };
    }
    if let Some(said) = reply.failure
        && matches!(result.end, RunEnd::Success | RunEnd::Failed { again: RetryAdvice::Worthwhile, .. })
    {
        result.end = RunEnd::Failed { reason: attempt.redactor.sentence(&said), again: RetryAdvice::Worthwhile };
    }
    result
}

/// The words with the prompt in its place, as one argument; or the prompt for standard input.
fn hand_over(words: Vec<String>, prompt: String) -> (Vec<String>, String) {
    if !words.iter().any(|word| word.contains(PLACE)) {
        return (words, prompt);
    }
    let put = |word: String| {
        // A blank in front keeps any program from taking the prompt for an option.
        if word == PLACE && prompt.starts_with('-') { format!(" {prompt}") } else { word.replace(PLACE, &prompt) }
    };
    (words.into_iter().map(put).collect(), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_one_argument_or_the_input() {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for (given, prompt, expected, stdin) in [
            (&["a", "{prompt}"][..], "x; rm -rf / $(y)", &["a", "x; rm -rf / $(y)"][..], ""),
            (&["a", "{prompt}"], "--version", &["a", " --version"], ""),
            (&["a", "--text={prompt}"], "-v", &["a", "--text=-v"], ""),
            (&["a", "-"], "-v {prompt}", &["a", "-"], "-v {prompt}"),
            (&["a", "{prompt}"], "say {prompt}", &["a", "say {prompt}"], ""),
        ] {
            let (found, input) = hand_over(words(given), prompt.to_owned());
            assert_eq!((found, input.as_str()), (words(expected), stdin));
        }
    }
}
