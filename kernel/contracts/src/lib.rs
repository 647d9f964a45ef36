//! The ABI: plain data and traits that every extension compiles against.
