//! A deterministic executor with a virtual clock.
