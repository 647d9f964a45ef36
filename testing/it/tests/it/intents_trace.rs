//! Asking the ledger: the real executable, a real ledger, real git.

mod repository;

mod ask;
mod attribution;
mod coverage;
mod random_histories;
mod share;
mod trailers;
