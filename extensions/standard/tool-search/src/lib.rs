//! Tools that search file contents and names.
