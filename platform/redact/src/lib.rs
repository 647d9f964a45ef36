//! Finds secrets in text and takes them out.
