//! What one run of an agent came to.
//!
//! Pure.

use crate::model_request::ModelRequest;
use std::time::Duration;

/// How the agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// By itself, with this code.
    Exited(i32),
    /// It had to be stopped, because its time was up.
    TimedOut,
    /// It could not be started, or was killed; says why.
    Failed(String),
}

/// One run of an agent.
#[derive(Debug)]
pub struct AgentRun {
    /// How it ended.
    pub end: AgentEnd,
    /// How long it took.
    pub duration: Duration,
    /// What it asked the model.
    pub requests: Vec<ModelRequest>,
    /// The beginning and the end of its output.
    pub stdout: String,
    /// The beginning and the end of its errors.
    pub stderr: String,
}

impl AgentRun {
    /// What the model was told about a step; `None` if the agent never came back with a result.
    #[must_use]
    pub fn told(&self, step: usize) -> Option<&str> {
        let longest = self.requests.iter().max_by_key(|request| request.results.len())?;
        longest.results.get(step).map(String::as_str)
    }

    /// Whether the model got to ask for a step.
    #[must_use]
    pub fn asked(&self, step: usize) -> bool {
        let at_step = |request: &&ModelRequest| request.results.len() == step && !request.offered.is_empty();
        self.requests.iter().filter(at_step).any(|request| request.not_offered.is_none())
    }

    /// The tool of a step that the agent did not offer.
    #[must_use]
    pub fn not_offered(&self, step: usize) -> Option<&str> {
        let at_step = self.requests.iter().filter(|request| request.results.len() == step);
        at_step.filter_map(|request| request.not_offered.as_deref()).next()
    }

    /// How often a text stands in what the model was sent last.
    #[must_use]
    pub fn times_sent(&self, text: &str) -> usize {
        let last = self.requests.iter().max_by_key(|request| request.results.len());
        last.map_or(0, |request| request.body.to_string().matches(text).count())
    }
}
