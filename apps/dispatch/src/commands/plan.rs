//! `dispatch plan`: the plan a session works on, and taking it step by step from submitted to complete.

mod validate;

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::{Paths, SessionState};
use dispatch_os::files::{self, read_at_most, replace};
use dispatch_os::{paths::resolve_inside, time};
use ext_hook_pipeline::contract::plan::{
    NodeStatus, PLAN_FILE_NAME, PLAN_LIMIT_BYTES, Plan, PlanError, PlanLookup, PlanNode, PlanProblem, PlanProgress,
    PlanSource, PlanTransition, WorkStatus, accept, complete, open_nodes, parse, plan_in_force, start,
};
use ext_hook_pipeline::contract::{append_to_session, module_output_file, session_state};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The module that owns the plan.
const MODULE: &str = "planGraph-exec";
/// What is shown of a title.
const TITLE_CHARS: usize = 60;
/// What is kept of a word about the result of a node.
const RESULT_CHARS: usize = 500;

/// The shape of a plan, for the hint.
const PLAN_SHAPE: &str = r#"a plan is {"version": 1, "nodes": [{"id", "title", "scope": [glob], "dependsOn": [id]}]}"#;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum PlanCommand {
    /// Print the plan and its progress
    Show {
        #[command(flatten)]
        common: PlanArgs,
    },
    /// Check a plan and put it in force
    Submit {
        /// The plan: {"version": 1, "nodes": [{"id", "title", "scope", "dependsOn", ...}]}
        file: PathBuf,
        #[command(flatten)]
        common: PlanArgs,
    },
    /// Start work on a node
    Start {
        /// The node's id
        node: String,
        #[command(flatten)]
        common: PlanArgs,
    },
    /// Run the checks of a node and complete it if they pass
    Complete {
        /// The node's id
        node: String,
        #[command(flatten)]
        common: PlanArgs,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// The session, by id or a prefix of it; default: the newest
    #[arg(long, value_name = "SID")]
    session: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// A session whose plan is worked on.
pub(crate) struct SessionPlan<'a> {
    workspace: &'a Workspace,
    id: String,
    paths: Paths,
    state: SessionState,
}

/// What came of a step, for programs and for people.
pub(crate) struct PlanOutcome {
    pub(crate) status: Status,
    pub(crate) value: Value,
    pub(crate) text: String,
}

pub(crate) fn run(loaded: &Loaded, command: &PlanCommand, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::with_rules(loaded)?;
    let common = match command {
        PlanCommand::Show { common }
        | PlanCommand::Submit { common, .. }
        | PlanCommand::Start { common, .. }
        | PlanCommand::Complete { common, .. } => common,
    };
    let plan = SessionPlan::of(&workspace, common.session.as_deref())?;
    let outcome = match command {
        PlanCommand::Show { .. } => plan.show(),
        PlanCommand::Submit { file, .. } => plan.submit(file),
        PlanCommand::Start { node, .. } => plan.start(node),
        PlanCommand::Complete { node, .. } => plan.complete(loaded, node, None, printer),
    }?;
    match common.json.into() {
        Format::Json => printer.json(&outcome.value)?,
        Format::Text => printer.out(&outcome.text),
    }
    Ok(outcome.status)
}

impl<'a> SessionPlan<'a> {
    /// The plan of the session that is named, else of the newest.
    pub(crate) fn of(workspace: &'a Workspace, session: Option<&str>) -> Result<Self, Failure> {
        let id = workspace.session(session)?.id;
        let paths = workspace.paths(&id);
        let state = session_state(&paths)?;
        Ok(Self { workspace, id, paths, state })
    }

    fn standing(&self) -> WorkStatus {
        WorkStatus::of(&self.state, time::unix_ms())
    }

    fn plan(&self) -> Result<(Plan, PlanSource), Failure> {
        match plan_in_force(&self.paths, &self.state) {
            PlanLookup::Valid { plan, source } => Ok((plan, source)),
            PlanLookup::Nothing => Err(Failure::usage("no plan").hint("`dispatch plan submit FILE` puts one in force")),
            PlanLookup::Invalid { path, problems } => Err(invalid(&path, &problems)),
        }
    }

    fn show(&self) -> Result<PlanOutcome, Failure> {
        let (plan, source) = self.plan()?;
        Ok(self.whole_plan(&plan, &source.path, &PlanProgress::of(&self.state)))
    }

    fn whole_plan(&self, plan: &Plan, path: &str, progress: &PlanProgress) -> PlanOutcome {
        let open: Vec<&str> = open_nodes(plan, progress).iter().map(|node| node.id.as_str()).collect();
        let row = |node: &PlanNode| {
            let open = if open.contains(&node.id.as_str()) { "open" } else { "" };
            let after = node.depends_on.join(", ");
            let after = if after.is_empty() { after } else { format!("after {after}") };
            let (status, title) = (progress.status(&node.id).as_str(), one_line(&node.title, TITLE_CHARS));
            vec![status.to_owned(), open.to_owned(), node.id.clone(), title, node.scope.join(" "), after]
        };
        let done = plan.nodes.iter().filter(|node| progress.status(&node.id) == NodeStatus::Completed).count();
        let phase = self.state.phase().as_str();
        let head = format!("{path}, session {}, {phase}: {done} of {} done", self.id, plan.nodes.len());
        PlanOutcome {
            status: Status::Done,
            value: plan_json(&self.id, &self.state, plan, path, progress, &open),
            text: format!("{head}\n{}", table(&plan.nodes.iter().map(row).collect::<Vec<_>>())),
        }
    }

    fn submit(&self, file: &Path) -> Result<PlanOutcome, Failure> {
        let bytes = read_at_most(file, PLAN_LIMIT_BYTES)
            .map_err(|error| Failure::of(Status::Usage, &error).hint("name a file with a plan"))?;
        let plan = parse(&bytes).map_err(|problems| invalid(&file.display().to_string(), &problems))?;
        let absolute = files::absolute(file)
            .map_err(|error| Failure::usage(format!("invalid path {}: {error}", file.display())))?;
        self.accept(&plan, &self.keep(Some(absolute), &bytes)?)
    }

    /// Puts a plan in force that is in no file.
    pub(crate) fn submit_bytes(&self, bytes: &[u8]) -> Result<PlanOutcome, Failure> {
        let plan = parse(bytes).map_err(|problems| invalid("this", &problems))?;
        self.accept(&plan, &self.keep(None, bytes)?)
    }

    fn accept(&self, plan: &Plan, source: &PlanSource) -> Result<PlanOutcome, Failure> {
        let step = accept(plan, source, self.standing()).map_err(refused)?;
        self.write(step)?;
        let (path, count) = (&source.path, plan.nodes.len());
        Ok(PlanOutcome {
            status: Status::Done,
            value: json!({"accepted": path, "nodes": count}),
            text: format!("accepted {path} with {count} nodes; session {} is EXECUTING", self.id),
        })
    }

    /// Where the plan is found from now on: where it is, if that is in the workspace, else in the session.
    fn keep(&self, file: Option<PathBuf>, bytes: &[u8]) -> Result<PlanSource, Failure> {
        let inside = |file: &PathBuf| {
            let stays = resolve_inside(&self.workspace.root, file).is_ok_and(|found| found.is_inside());
            stays && self.paths.repo_relative(file).is_some()
        };
        let place = match file.filter(inside) {
            Some(file) => file,
            None => {
                let place = module_output_file(&self.paths, MODULE, PLAN_FILE_NAME)?;
                replace(&place, bytes)?;
                place
            }
        };
        let modified = files::metadata(&place).and_then(|found| found.modified()).ok();
        let age = modified.and_then(|time| time.duration_since(time::UNIX_EPOCH).ok()).unwrap_or_default();
        let path = self.paths.repo_relative(&place).unwrap_or_default();
        Ok(PlanSource { path, mtime_ms: i64::try_from(age.as_millis()).unwrap_or(i64::MAX), hash: sha256_hex(bytes) })
    }

    pub(crate) fn start(&self, node: &str) -> Result<PlanOutcome, Failure> {
        let (plan, _) = self.plan()?;
        let step = start(&plan, &PlanProgress::of(&self.state), node, self.standing()).map_err(refused)?;
        let already = step.records.is_empty();
        self.write(step)?;
        let text = format!("{node} {}", if already { "was already started" } else { "started" });
        Ok(PlanOutcome { status: Status::Done, value: json!({"started": node}), text })
    }

    /// Runs the checks of a node. `result` is the summary of whoever did the work.
    pub(crate) fn complete(
        &self,
        loaded: &Loaded,
        node: &str,
        result: Option<&str>,
        printer: &Printer,
    ) -> Result<PlanOutcome, Failure> {
        let (plan, _) = self.plan()?;
        let progress = PlanProgress::of(&self.state);
        // Asked with no results first, so that nothing is run for a node that could not be completed anyway.
        match complete(&plan, &progress, node, &[], self.standing()) {
            Ok(_) | Err(PlanError::NotValidated { .. }) => {}
            Err(error) => return Err(refused(error)),
        }
        let commands = plan.node(node).map(|node| node.validations.as_slice()).unwrap_or_default();
        let checks = validate::run_all(loaded, self.workspace, &self.paths, &self.state, commands, printer);
        let results: Vec<_> = checks.iter().map(validate::NodeCheck::result).collect();
        let mut step = complete(&plan, &progress, node, &results, self.standing()).map_err(refused)?;
        if let (Some(result), Some(record)) = (result, step.records.first_mut()) {
            record.data["result"] = one_line(result, RESULT_CHARS).into();
        }
        let phase = step.phase.unwrap_or(self.state.phase());
        self.write(step)?;
        let passed = checks.iter().all(validate::NodeCheck::passed);
        let mut lines: Vec<String> = checks.iter().map(validate::NodeCheck::text).collect();
        let phase_name = phase.as_str();
        lines.push(match passed {
            true => format!("{node} is completed; the phase is {phase_name}"),
            false => format!(
                "{node} is not completed; the phase is {phase_name}. Fix it, then run `dispatch phase set EXECUTING --reason TEXT`"
            ),
        });
        Ok(PlanOutcome {
            status: if passed { Status::Done } else { Status::No },
            value: json!({"node": node, "completed": passed, "phase": phase, "validations": checks}),
            text: lines.join("\n"),
        })
    }

    fn write(&self, step: PlanTransition) -> Result<(), Failure> {
        if step.records.is_empty() {
            return Ok(());
        }
        Ok(append_to_session(&self.paths, &self.state, MODULE, step.records, step.state_patch)?)
    }
}

fn plan_json(id: &str, state: &SessionState, plan: &Plan, path: &str, progress: &PlanProgress, open: &[&str]) -> Value {
    let node = |node: &PlanNode| {
        let mut value = serde_json::to_value(node).unwrap_or_default();
        value["status"] = progress.status(&node.id).as_str().into();
        value["open"] = open.contains(&node.id.as_str()).into();
        value
    };
    json!({"session": id, "phase": state.phase(), "path": path, "nodes": plan.nodes.iter().map(node).collect::<Vec<_>>()})
}

fn refused(error: PlanError) -> Failure {
    let hint = match &error {
        PlanError::NotExecuting(_) => {
            "`dispatch plan submit FILE` or `dispatch phase set EXECUTING --reason TEXT` moves on"
        }
        PlanError::WorkBlocked => {
            "a person looks at `dispatch phase show` and runs `dispatch phase set PHASE --reason TEXT`"
        }
        _ => "`dispatch plan show` prints the progress of the plan",
    };
    Failure { status: Status::No, ..Failure::of(Status::Usage, &error).hint(hint) }
}

fn invalid(path: &str, problems: &[PlanProblem]) -> Failure {
    let messages = std::iter::once(format!("{path} is not a valid plan"))
        .chain(problems.iter().map(ToString::to_string))
        .collect();
    Failure { status: Status::No, messages, ..Failure::usage("") }.hint(PLAN_SHAPE)
}
