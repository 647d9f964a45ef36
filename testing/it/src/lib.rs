//! End-to-end tests of the real executables.
