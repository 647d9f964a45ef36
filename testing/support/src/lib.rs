//! Test support: contexts, scripted peers, compliance checks.
