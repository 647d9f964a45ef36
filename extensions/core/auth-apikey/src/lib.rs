//! Finds API keys in the environment, the keyring or an owner-only file.
