//! The pure kernel: bus, extension host, turn loop and services.
