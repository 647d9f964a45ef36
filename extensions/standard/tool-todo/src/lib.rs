//! A tool that keeps the model's list of what is left to do.
