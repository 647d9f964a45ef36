//! The JavaScript and TypeScript engine that user code runs in.
