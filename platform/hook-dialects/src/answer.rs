//! What was decided about a hook event, and the bytes that tell the host.

use dispatch_hook_module::Decision;
use serde::Serialize;
use serde_json::Value;

/// A host-neutral answer, ready to be spelled in a dialect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The decision. No objection alone never answers the host's own permission prompt.
    pub decision: Decision,
    /// With no objection: permitted on purpose, so the host need not ask the user.
    pub grant: bool,
    /// Why, in words for the model and the user.
    pub reason: Option<String>,
    /// A stable name for the reason, such as `SCOPE_VIOLATION`.
    pub code: Option<String>,
    /// Text the model should read.
    pub context: Vec<String>,
    /// Text the user should read.
    pub system_message: Option<String>,
    /// The whole tool input as it should be, not only what changed.
    pub updated_input: Option<Value>,
    /// What the model should see in place of the tool's result.
    pub updated_output: Option<Value>,
    /// Why the agent should stop altogether, if it should.
    pub halt: Option<String>,
}

impl Answer {
    /// No objection and nothing to say.
    #[must_use]
    pub fn pass() -> Self {
        Self::default()
    }

    /// Permitted on purpose.
    #[must_use]
    pub fn granted() -> Self {
        Self { grant: true, ..Self::default() }
    }

    /// A refusal.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { decision: Decision::Deny, reason: Some(reason.into()), ..Self::default() }
    }

    /// A question to the user.
    #[must_use]
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Decision::Ask, reason: Some(reason.into()), ..Self::default() }
    }
}

/// What the process hands back to its host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error; empty except for hosts that read their refusals there.
    pub stderr: Vec<u8>,
    /// The exit code: 0, or 2 for hosts that are blocked by it.
    pub exit_code: u8,
}

/// The exit code that blocks, on hosts that know no other way.
pub const EXIT_BLOCKED: u8 = 2;

impl Reply {
    /// Exactly these bytes on standard output and success.
    #[must_use]
    pub fn plain(stdout: &[u8]) -> Self {
        Self { stdout: stdout.to_vec(), ..Self::default() }
    }

    /// One JSON object on standard output and success.
    pub(crate) fn json(wire: &impl Serialize) -> Self {
        Self { stdout: json_line(wire), ..Self::default() }
    }

    /// A refusal by exit code, its reason on standard error.
    pub(crate) fn blocked(reason: &str) -> Self {
        Self { stdout: Vec::new(), stderr: format!("{}\n", reason.trim_end()).into_bytes(), exit_code: EXIT_BLOCKED }
    }
}

pub(crate) fn json_line(wire: &impl Serialize) -> Vec<u8> {
    // A wire type of ours has only string keys, so this cannot fail; `{}` is still a safe reply.
    let mut bytes = serde_json::to_vec(wire).unwrap_or_else(|_| b"{}".to_vec());
    bytes.push(b'\n');
    bytes
}
