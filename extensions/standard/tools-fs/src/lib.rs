//! Tools that read, write, edit and list files of the workspace.
