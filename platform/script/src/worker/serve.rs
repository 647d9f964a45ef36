//! The worker's side: an engine per request (or kept), with everything it may reach relayed to the parent.

use std::cell::RefCell;
use std::io::{self, BufReader, Read, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dispatch_os::time::{self, Instant};
use serde_json::Value;

use crate::cache::{Cache, CacheTrust, MemoryCache};
use crate::engine::{Callee, Engine, Script, SequentialEngine, parse_json};
use crate::error::{ErrorKind, ScriptError};
use crate::grants::{ClockGrant, Grants, HostFunctions};
use crate::limits::Limits;
use crate::log::{LogLevel, LogSink};
use crate::source::{ModuleSource, SentImport, Source};

use super::frame;
use super::protocol::{ConsoleWire, FromWorker, ImportsWire, ModuleWire, RunWire, ScriptWire, ToWorker};
use super::request::ScriptClock;

/// Modules kept between requests; the oldest goes first.
pub(super) const MAX_KEPT_SCRIPTS: usize = 16;
/// Engines kept for modules that serve one request: requests of one kind are alike but for their module.
const MAX_FRESH_ENGINES: usize = 2;
const OTHER_QUESTION: &str = "the parent answered another question";

/// Serves requests until the input ends. A program calls this when it is started as a script worker, on its main
/// thread and before it opens anything else.
///
/// # Errors
/// When the parent is gone or breaks the protocol; the program then simply exits.
pub fn worker_main(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<()> {
    let pipe =
        Pipe(Arc::new(Mutex::new(PipeEnds { input: Box::new(BufReader::new(input)), output: Box::new(output) })));
    let mut scripts = WorkerScripts { kept: Vec::new(), fresh: Vec::new(), cache: Arc::default(), pipe: pipe.clone() };
    pipe.send(&FromWorker::Ready)?;
    while let Some(message) = pipe.receive()? {
        let ToWorker::Run(run) = message else {
            return Err(io::Error::other("the parent replied to no question"));
        };
        let outcome = scripts.run(*run).map(|value| value.to_string());
        pipe.send(&FromWorker::Done(outcome))?;
    }
    Ok(())
}

struct PipeEnds {
    input: Box<dyn Read + Send>,
    output: Box<dyn Write + Send>,
}

/// The two pipes to the parent, shared by the callbacks of all engines.
#[derive(Clone)]
struct Pipe(Arc<Mutex<PipeEnds>>);

impl Pipe {
    fn send(&self, message: &FromWorker) -> io::Result<()> {
        let mut ends = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        frame::write(&mut ends.output, message)
    }

    fn receive(&self) -> io::Result<Option<ToWorker>> {
        let mut ends = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        frame::read(&mut ends.input)
    }

    fn ask(&self, question: &FromWorker) -> Result<ToWorker, String> {
        self.send(question).map_err(|error| error.to_string())?;
        let reply = self.receive().map_err(|error| error.to_string())?;
        reply.ok_or_else(|| "the parent process is gone".to_owned())
    }
}

impl LogSink for Pipe {
    fn line(&self, level: LogLevel, text: &str) {
        let text = text.to_owned();
        // A parent that is gone shows at the next read.
        let _ = self.send(&FromWorker::Logged { level, text });
    }
}

impl ModuleSource for Pipe {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        match self.ask(&FromWorker::ImportWanted { specifier: specifier.to_owned(), referrer: referrer.to_owned() })? {
            ToWorker::Imported(source) => source,
            _ => Err(OTHER_QUESTION.to_owned()),
        }
    }
}

/// What a module can import: what came with the request, and what the parent finds.
struct WorkerImports {
    sent: SentImports,
    pipe: Pipe,
    finds_packages: bool,
}

/// What came with the request that is being worked on.
type SentImports = Rc<RefCell<Vec<SentImport>>>;

impl ModuleSource for WorkerImports {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let is_wanted = |import: &&SentImport| import.specifier == specifier && import.referrer == referrer;
        let sent = self.sent.borrow().iter().find(is_wanted).map(|import| import.source.clone());
        sent.map_or_else(|| self.pipe.load(specifier, referrer), Ok)
    }

    fn finds_packages(&self) -> bool {
        self.finds_packages
    }
}

struct LoadedScript {
    script: Script,
    engine: Engine,
    value_bytes: usize,
}

/// An engine that finds fresh globals for each module.
struct FreshEngine {
    /// All of a request but its module.
    like: ScriptWire,
    sent: SentImports,
    engine: SequentialEngine,
}

/// What the worker keeps between requests.
struct WorkerScripts {
    /// By the parent's number.
    kept: Vec<(u64, LoadedScript)>,
    /// Engines for modules that serve one request.
    fresh: Vec<FreshEngine>,
    /// Written by this process alone, so its bytecode can be trusted.
    cache: Arc<MemoryCache>,
    pipe: Pipe,
}

impl WorkerScripts {
    fn run(&mut self, run: RunWire) -> Result<Value, ScriptError> {
        let RunWire { module, time, call, now_ms, clock } = run;
        let deadline = time::now().checked_add(time);
        let budget = LoadBudget { time, deadline, clock, now_ms };
        let (number, loaded) = match module {
            ModuleWire::Fresh(wire) => return self.run_fresh(*wire, &budget, call),
            ModuleWire::New(number, wire) => (number, self.load(&wire, &budget)?),
            ModuleWire::Known(number) => (number, self.take_kept(number, &budget)?),
        };
        loaded.engine.set_clock(clock_grant(clock, now_ms));
        loaded.engine.set_time(time);
        loaded.engine.set_deadline(deadline);
        let outcome = act(&loaded.script, call, loaded.value_bytes);
        let is_stopped = matches!(&outcome, Err(error) if error.kind == ErrorKind::Deadline);
        if !is_stopped {
            if self.kept.len() >= MAX_KEPT_SCRIPTS {
                self.kept.remove(0);
            }
            self.kept.push((number, loaded));
        }
        outcome
    }

    /// Runs a module with globals that no other has touched. Making them is what takes longest, so they are kept as they
    /// were for the next module that gets the same.
    fn run_fresh(
        &mut self,
        mut wire: ScriptWire,
        budget: &LoadBudget,
        call: Option<(Callee, Vec<String>)>,
    ) -> Result<Value, ScriptError> {
        let source = std::mem::replace(&mut wire.source, Source::new("", ""));
        let sent = std::mem::take(&mut wire.sent);
        let value_bytes = wire.limits.value_bytes;
        let mut fresh = self.fresh_engine(wire, budget)?;
        *fresh.sent.borrow_mut() = sent;
        fresh.engine.set_clock(clock_grant(budget.clock, budget.now_ms));
        fresh.engine.set_time(budget.time);
        fresh.engine.set_deadline(budget.deadline);
        let outcome = fresh.engine.run(&source, |script| act(script, call, value_bytes));
        if !fresh.engine.is_stopped() {
            fresh.engine.tidy();
            self.fresh.push(fresh);
        }
        outcome
    }

    /// The engine that requests like this one use. It is taken out.
    fn fresh_engine(&mut self, like: ScriptWire, budget: &LoadBudget) -> Result<FreshEngine, ScriptError> {
        if let Some(at) = self.fresh.iter().position(|known| known.like == like) {
            return Ok(self.fresh.remove(at));
        }
        if self.fresh.len() >= MAX_FRESH_ENGINES {
            self.fresh.remove(0);
        }
        let limits = Limits { time: budget.time, ..like.limits.clone() };
        let sent = SentImports::default();
        let engine = SequentialEngine::plain(limits, self.grants(&like, &sent, budget))?;
        Ok(FreshEngine { like, sent, engine })
    }

    /// A module of an earlier request, loaded again if it had to make room or was stopped.
    fn take_kept(&mut self, number: u64, budget: &LoadBudget) -> Result<LoadedScript, ScriptError> {
        if let Some(at) = self.kept.iter().position(|kept| kept.0 == number) {
            return Ok(self.kept.remove(at).1);
        }
        match self.pipe.ask(&FromWorker::ModuleWanted) {
            Ok(ToWorker::Module(wire)) => self.load(&wire, budget),
            Ok(_) => Err(ScriptError::new(ErrorKind::Engine, OTHER_QUESTION)),
            Err(reason) => Err(ScriptError::new(ErrorKind::Engine, reason)),
        }
    }

    fn load(&self, wire: &ScriptWire, budget: &LoadBudget) -> Result<LoadedScript, ScriptError> {
        let limits = Limits { time: budget.time, ..wire.limits.clone() };
        let sent = Rc::new(RefCell::new(wire.sent.clone()));
        let engine = Engine::new(limits, self.grants(wire, &sent, budget))?;
        engine.set_deadline(budget.deadline);
        let script = engine.load(&wire.source)?;
        Ok(LoadedScript { script, engine, value_bytes: wire.limits.value_bytes })
    }

    /// What a module may reach: nothing here, and in the parent what the pipe brings there.
    fn grants(&self, wire: &ScriptWire, sent: &SentImports, budget: &LoadBudget) -> Grants {
        let pipe = || self.pipe.clone();
        let imports = |finds_packages| -> Box<dyn ModuleSource> {
            Box::new(WorkerImports { sent: Rc::clone(sent), pipe: pipe(), finds_packages })
        };
        Grants {
            clock: clock_grant(budget.clock, budget.now_ms),
            idle_export: wire.idle_export.clone(),
            random_seed: wire.random_seed,
            log: (wire.console == ConsoleWire::Relayed).then(|| Box::new(pipe()) as _),
            host: self.host_functions(wire),
            virtual_modules: wire.virtual_modules.clone(),
            sources: match wire.imports {
                ImportsWire::Refused => None,
                ImportsWire::Relayed => Some(imports(false)),
                ImportsWire::AllRelayed => Some(imports(true)),
            },
            cache: Some(Cache::new(Arc::clone(&self.cache), CacheTrust::TextAndBytecode)),
            ..Grants::default()
        }
    }

    fn host_functions(&self, wire: &ScriptWire) -> HostFunctions {
        let max_bytes = wire.limits.value_bytes;
        wire.host_names.iter().fold(HostFunctions::new(), |functions, name| {
            let (pipe, called) = (self.pipe.clone(), name.clone());
            functions.with(name.clone(), move |arguments| {
                let question =
                    FromWorker::HostCalled { name: called.clone(), arguments: Value::from(arguments).to_string() };
                match pipe.ask(&question)? {
                    ToWorker::HostReturned(result) => {
                        parse_json(Some(result?), max_bytes).map_err(|error| error.message)
                    }
                    _ => Err(OTHER_QUESTION.to_owned()),
                }
            })
        })
    }
}

/// How long a module may take to load, and what its clock shows meanwhile.
struct LoadBudget {
    time: Duration,
    deadline: Option<Instant>,
    clock: ScriptClock,
    now_ms: f64,
}

fn clock_grant(clock: ScriptClock, now_ms: f64) -> ClockGrant {
    match clock {
        ScriptClock::Stands => ClockGrant::Fixed(now_ms),
        ScriptClock::Runs => running_clock(now_ms),
    }
}

/// A clock that goes on from these milliseconds since 1970.
fn running_clock(now_ms: f64) -> ClockGrant {
    let started = time::now();
    ClockGrant::Real(Box::new(move || now_ms + (time::now() - started).as_millis() as f64))
}

fn act(script: &Script, call: Option<(Callee, Vec<String>)>, max_bytes: usize) -> Result<Value, ScriptError> {
    let Some((callee, arguments)) = call else {
        return script.exports();
    };
    let arguments =
        arguments.into_iter().map(|text| parse_json(Some(text), max_bytes)).collect::<Result<Vec<_>, _>>()?;
    script.call(&callee, &arguments)
}
