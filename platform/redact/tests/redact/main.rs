//! The tests of redaction, as a caller sees it.
#![allow(clippy::expect_used, reason = "a test that cannot be set up must fail")]

mod assignments;
mod false_positives;
mod json;
mod key_blocks;
mod large;
mod output;
mod properties;
mod samples;
mod streams;
mod table;
mod user_patterns;
