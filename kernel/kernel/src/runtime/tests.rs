//! The turn loop against scripted models and real tools on a virtual clock.

mod behaviour;
mod policies;
mod properties;
mod scenario;
