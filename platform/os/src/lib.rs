//! The one place that touches the operating system.
