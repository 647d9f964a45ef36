//! Benchmarks that print a table.
