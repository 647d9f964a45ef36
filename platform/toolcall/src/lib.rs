//! Says what a tool call of any host does.
