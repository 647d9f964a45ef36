//! Short ways to run a text.

use std::time::Duration;

use dispatch_script::{Callee, Engine, Grants, Limits, Script, ScriptError, Source};
use serde_json::Value;

/// Limits that a loaded machine does not reach by accident.
pub(crate) fn patient() -> Limits {
    Limits { time: Duration::from_secs(120), ..Limits::default() }
}

pub(crate) fn load(name: &str, text: &str) -> Result<Script, ScriptError> {
    load_with(Grants::default(), name, text)
}

pub(crate) fn load_with(grants: Grants, name: &str, text: &str) -> Result<Script, ScriptError> {
    Engine::new(patient(), grants)?.load(&Source::new(name, text))
}

/// Calls the default export of a JavaScript text.
pub(crate) fn run(text: &str, arguments: &[Value]) -> Result<Value, ScriptError> {
    load("main.js", text)?.call(&Callee::export("default"), arguments)
}

/// The value of an expression.
pub(crate) fn eval(expression: &str) -> Result<Value, ScriptError> {
    run(&format!("export default () => ({expression});"), &[])
}
