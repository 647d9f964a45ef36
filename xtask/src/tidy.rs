//! `cargo xtask tidy`: house rules that a compiler does not know, one file per rule.

pub(crate) mod allow_reason;
pub(crate) mod clippy_settings;
pub(crate) mod contracts_surface;
pub(crate) mod enforced_rows;
pub(crate) mod harness;
pub(crate) mod header;
pub(crate) mod hooks;
pub(crate) mod kernel_roots;
pub(crate) mod length;
pub(crate) mod markers;
pub(crate) mod mentions;
pub(crate) mod names;
pub(crate) mod os_touches;
pub(crate) mod promises;
pub(crate) mod pure_files;
pub(crate) mod purity;
pub(crate) mod retired_words;
pub(crate) mod test_doubles;
pub(crate) mod text;
pub(crate) mod type_names;
pub(crate) mod versions;
pub(crate) mod walks;
