//! The words in which a tool call is described: what kind it is and how it touches a path.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// What a tool is for, whatever its host calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// Looks at a named file, folder or resource.
    Read,
    /// Looks for something: by name, by content, on the web.
    Search,
    /// Changes files.
    Write,
    /// Runs a command or code.
    Execute,
    /// Gets a page from the network.
    Fetch,
    /// Starts or talks to another agent.
    Agent,
    /// Belongs to an MCP server.
    Mcp,
    /// Anything else, and every tool that no table knows.
    Other,
}

/// How a path is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Looked at.
    Read,
    /// Changed; made if it is not there.
    Write,
    /// Made.
    Create,
    /// Removed.
    Delete,
}

/// One path and how it is touched.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathAccess {
    /// Absolute wherever the event had a working directory to resolve it against.
    pub path: String,
    /// How the path is touched.
    pub access: Access,
    /// Whether `path` is a pattern that stands for whatever it matches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub glob: bool,
}
