//! Runs the unit tests of an extension, its `*.test.ts` files, in a worker process and without a host.

use crate::folder::ExtensionFolder;
use crate::limits::{START, UNIT_TEST};
use crate::worker::{FolderImports, WORKER_COMMAND};
use dispatch_os::environment::current_program;
use dispatch_script::{
    Action, Callee, Lifetime, Limits, Port, Request, ScriptError, Source, Supervisor, SupervisorLimits, WorkerCommand,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

const TEST_MODULE: (&str, &str) = ("dispatch:test", include_str!("test_module.js"));
const RUNNER: &str = include_str!("test_runner.js");
const RUNNER_NAME: &str = "dispatch:test-runner.js";
/// What the names of test files end in.
const ENDINGS: [&str; 2] = [".test.ts", ".test.js"];

/// One unit test and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnitTestResult {
    /// The file that it is in.
    pub file: String,
    /// Its name; that of the file if the file could not be loaded.
    pub name: String,
    /// What went wrong; `None` if nothing did.
    pub failure: Option<String>,
    /// The line in the file where it went wrong, where that is known.
    pub line: Option<u32>,
}

/// Runs all tests of a folder, each with a deadline of its own.
///
/// # Errors
/// When this program cannot be started as a worker.
pub fn run_unit_tests(folder: &ExtensionFolder) -> Result<Vec<UnitTestResult>, String> {
    let program = current_program().map_err(|error| error.to_string())?;
    let command = WorkerCommand::new(program, [WORKER_COMMAND]);
    let supervisor = Supervisor::new(command, SupervisorLimits { start: START, ..SupervisorLimits::default() });
    let imports = FolderImports(Arc::new(folder.clone()));
    let is_test = |name: &&str| !name.contains('/') && ENDINGS.iter().any(|ending| name.ends_with(ending));
    Ok(folder.names().filter(is_test).flat_map(|file| run_file(&supervisor, &imports, file)).collect())
}

fn run_file(supervisor: &Supervisor, imports: &FolderImports, file: &str) -> Vec<UnitTestResult> {
    let call = |function: &str, arguments: Vec<Value>| {
        let source = Source::new(RUNNER_NAME, RUNNER.replace("ENTRY", file));
        let request = Request {
            lifetime: Lifetime::Kept,
            limits: Limits { time: UNIT_TEST, ..Limits::default() },
            virtual_modules: BTreeMap::from([(TEST_MODULE.0.to_owned(), TEST_MODULE.1.to_owned())]),
            ..Request::new(source, Action::Call(Callee::export(function), arguments))
        };
        supervisor.run(&request, &Port { sources: Some(imports), ..Port::default() })
    };
    let names: Vec<String> = match call("names", Vec::new()).map(serde_json::from_value) {
        Ok(names) => names.unwrap_or_default(),
        Err(error) => return vec![result(file, file.to_owned(), Some(error))],
    };
    if names.is_empty() {
        let (file, name) = (file.to_owned(), file.to_owned());
        return vec![UnitTestResult { file, name, failure: Some("the file has no test".to_owned()), line: None }];
    }
    let run = |(at, name): (usize, String)| result(file, name, call("run", vec![at.into()]).err());
    names.into_iter().enumerate().map(run).collect()
}

fn result(file: &str, name: String, error: Option<ScriptError>) -> UnitTestResult {
    let place = error.as_ref().and_then(|error| error.stack.iter().find(|frame| frame.file == file));
    let line = place.map(|frame| frame.line);
    UnitTestResult { file: file.to_owned(), name, failure: error.map(|error| said(&error)), line }
}

/// What a failed comparison says; the place is told apart from it.
fn said(error: &ScriptError) -> String {
    let message = error.message.strip_prefix("Error: ").unwrap_or(&error.message);
    match error.kind {
        dispatch_script::ErrorKind::Thrown => message.to_owned(),
        kind => format!("{kind}: {message}"),
    }
}
