//! Serves sessions over HTTP, server-sent events, WebSocket and standard streams.
