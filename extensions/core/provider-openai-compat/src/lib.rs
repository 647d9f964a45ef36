//! Streams replies from any server that speaks the OpenAI chat protocol, or rehearses without one.
