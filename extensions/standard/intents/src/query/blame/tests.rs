//! Lines find their writers, with and without kept contents.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::hash::content_hash;
use crate::query::{line_diff, samples};

/// Who writes a version of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TestWriter {
    Agent,
    Person,
}

struct EditHistory {
    history: Vec<RecordedChange>,
    contents: HashMap<String, Vec<u8>>,
    present: Option<Vec<u8>>,
}

impl EditHistory {
    fn new() -> Self {
        Self { history: Vec::new(), contents: HashMap::new(), present: None }
    }

    fn version(mut self, writer: TestWriter, text: Option<&str>) -> Self {
        let post = text.map(|text| text.as_bytes().to_vec());
        if writer == TestWriter::Agent {
            let number = self.history.len() as u64 + 1;
            let entry = samples::change(number, "a.rs", self.present.as_deref(), post.as_deref());
            for kept in [&self.present, &post].into_iter().flatten() {
                self.contents.insert(content_hash(kept), kept.clone());
            }
            self.history.push(RecordedChange { number, entry });
        }
        self.present = post;
        self
    }

    fn agent(self, text: &str) -> Self {
        self.version(TestWriter::Agent, Some(text))
    }

    fn person(self, text: &str) -> Self {
        self.version(TestWriter::Person, Some(text))
    }

    fn marks(&self, content: &dyn Fn(&str) -> Option<Vec<u8>>) -> String {
        let blame = FileBlame::new(&self.history, content, self.present.as_deref().unwrap_or_default());
        let mark = |line: BlamedLine<'_>| match line.by {
            LineAuthor::Agent => blame.change(line.line).unwrap().number.to_string(),
            LineAuthor::Human => "h".to_owned(),
            LineAuthor::Unknown => "?".to_owned(),
        };
        blame.lines().map(mark).collect()
    }

    fn with_contents(&self) -> String {
        self.marks(&|hash| self.contents.get(hash).cloned())
    }

    fn in_a_clone(&self) -> String {
        self.marks(&|_| None)
    }
}

#[test]
fn each_line_belongs_to_who_wrote_it() {
    let history = EditHistory::new()
        .person("old one\nold two\n")
        .agent("old one\nagent a\nold two\n")
        .person("old one\nagent a\nby hand\nold two\n")
        .agent("old one\nagent a\nby hand\nagent b\n");
    assert_eq!(history.with_contents(), "?1h2");
    assert_eq!(history.in_a_clone(), "?1?2", "whether a line is older or by hand cannot be told");
    let history = history.person("mine\nold one\nagent a\nby hand\nagent b\n");
    assert_eq!(history.with_contents(), "h?1h2");
}

#[test]
fn a_new_file_and_one_that_comes_again_belong_to_their_writers() {
    let history = EditHistory::new().agent("a\nb\n").version(TestWriter::Agent, None).agent("a\nc\n");
    assert_eq!(history.with_contents(), "33");
    let moved = EditHistory::new().agent("a\nb\n").version(TestWriter::Agent, None).agent("a\nb\n");
    assert_eq!(moved.with_contents(), "11", "the same content comes back with its origins");
    assert_eq!(EditHistory::new().agent("").with_contents(), "");
}

#[test]
fn an_older_version_comes_back_with_its_origins() {
    let history =
        EditHistory::new().agent("a one\n").agent("a one\nb two\n").agent("c three\n").person("a one\nb two\n");
    assert_eq!(history.with_contents(), "12");
    let history = history.person("mine\na one\nb two\n");
    assert_eq!(history.with_contents(), "h12");
}

#[test]
fn without_contents_runs_of_lines_are_preferred() {
    let history = EditHistory::new().agent("fn a() {\n}\n").agent("fn a() {\n}\n\nfn b() {\n}\n");
    assert_eq!(history.in_a_clone(), "11222");
    let history = history.person("// top\n\nfn b() {\n}\nfn a() {\n}\n}\n");
    assert_eq!(history.in_a_clone(), "h22211h", "a brace alone proves nothing; the empty line belongs to its run");
}

#[test]
fn line_endings_do_not_change_who_wrote_a_line() {
    let history = EditHistory::new().person("old\n").agent("old\nnew one\n").person("old\r\nnew one\r\n");
    assert_eq!(history.with_contents(), "?1");
    assert_eq!(history.in_a_clone(), "?1");
    let history = EditHistory::new().person("old").agent("old\nnew one");
    assert_eq!(history.with_contents(), "?1");
}

#[test]
fn a_change_that_was_put_back_wrote_nothing() {
    let mut history = EditHistory::new().person("a\n").agent("a\nb\n");
    history.history[0].entry.reverted = true;
    history.present = Some(b"a\n".to_vec());
    assert_eq!(history.with_contents(), "?");
}

#[test]
fn a_change_without_contents_between_two_with_them_is_found_by_hash() {
    let mut history = EditHistory::new().agent("a one\n").agent("a one\nb two\n").agent("a one\nb two\nc three\n");
    history.contents.remove(&content_hash(b"a one\nb two\n"));
    assert_eq!(history.with_contents(), "123");
}

#[test]
fn a_long_history_is_known_too() {
    let mut history = EditHistory::new().person("start here\n");
    let mut text = "start here\n".to_owned();
    for number in 0..500 {
        text = format!("added {number}\n{text}");
        history = history.agent(&text);
        if number == 100 {
            text = format!("{text}by hand\n");
            history = history.person(&text);
        }
    }
    let expected: String = (1..=500).rev().map(|number| number.to_string()).collect::<String>() + "?h";
    assert_eq!(history.with_contents(), expected);
}

fn text_of(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What an independent model says of a list of steps that insert unique lines or delete a line.
fn model(steps: &[(bool, usize, bool)]) -> (EditHistory, String) {
    let mut history = EditHistory::new().person("start\n");
    let mut lines = vec![("start".to_owned(), "?".to_owned())];
    for (index, (agent, place, insert)) in steps.iter().enumerate() {
        let at = place % (lines.len() + 1);
        let writer = if *agent { TestWriter::Agent } else { TestWriter::Person };
        let number = history.history.len() + 1;
        if *insert || lines.is_empty() {
            let mark = if *agent { number.to_string() } else { "h".to_owned() };
            // A person's lines before the first change cannot be told from older ones.
            let mark = if history.history.is_empty() && !*agent { "?".to_owned() } else { mark };
            lines.insert(at, (format!("line {index}"), mark));
        } else {
            lines.remove(at % lines.len());
        }
        let text = text_of(&lines.iter().map(|(line, _)| line.clone()).collect::<Vec<_>>());
        history = history.version(writer, Some(&text));
    }
    let marks = lines.into_iter().map(|(_, mark)| mark).collect();
    (history, marks)
}

proptest! {
    #[test]
    fn the_replay_agrees_with_a_model_that_follows_each_line(
        steps in prop::collection::vec((any::<bool>(), 0_usize..20, prop::bool::weighted(0.7)), 0..9)
    ) {
        let (history, expected) = model(&steps);
        prop_assume!(!history.history.is_empty());
        prop_assert_eq!(history.with_contents(), expected.clone());
        let agents_only = expected.replace('h', "?");
        prop_assert_eq!(history.in_a_clone(), agents_only);
    }

    #[test]
    fn any_history_gives_one_origin_per_line(texts in prop::collection::vec("[ab\n{}]{0,30}", 1..6), present in "[ab\n{}]{0,30}") {
        let mut history = EditHistory::new();
        for text in &texts {
            history = history.agent(text);
        }
        history = history.person(&present);
        let lines = line_diff::count_lines(present.as_bytes());
        prop_assert_eq!(history.with_contents().len(), lines);
        prop_assert_eq!(history.in_a_clone().len(), lines);
    }
}
