//! Modules that are scripts of the workspace, run by the embedded engine under the same rules as native ones.

mod cache;
mod flags;
mod sources;
mod values;

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use dispatch_hook_module::{
    Context, Decision, EventName, HookAction, LogLevel, Module, ModuleError, ModuleSpec, Paths,
};
use dispatch_script::{
    Cache, CacheTrust, Callee, ClockGrant, ErrorKind, Grants, Limits, LogLevel as ScriptLevel, Script, ScriptError,
    SequentialEngine, Source,
};
use dispatch_trust::Trust;
use serde::{Deserialize, Serialize};

use crate::run::{FoundScript, ScriptModules};
use cache::FolderCache;
use flags::KnownFlags;
use sources::{Approved, ApprovedFiles, Denied, Imports};

/// What every module is seen through.
const ENTRY: &str = include_str!("script_module/entry.mjs");
const ENTRY_NAME: &str = "entry.mjs";
/// The file that a module's folder holds, in order of preference.
const FILES: [&str; 2] = ["hook.mjs", "hook.ts"];
const DEFAULT_PRIORITY: i32 = 100;
const MAX_NAME_BYTES: usize = 64;
/// No load or call takes longer, whatever the budget; each has a deadline of its own as well.
const LONGEST_CALL: Duration = Duration::from_secs(60);
/// On a machine that gives us hardly any time, a script is stopped after this long by the wall clock.
const LONGEST_WAIT: Duration = Duration::from_millis(4_500);
/// The part of the budget that is kept back for writing the answer.
const RESERVE: u32 = 10;

/// Where compiled scripts are kept between processes.
#[derive(Debug, Clone)]
pub struct ScriptCache {
    /// A folder that nobody but the user can write.
    pub folder: PathBuf,
    /// Whether bytecode may be read from it.
    pub trust: CacheTrust,
}

/// The script modules of one invocation. The engine starts with the first one that has to run; a module finds no trace of
/// those before it.
pub struct Scripts {
    trust: Rc<Trust>,
    cache: Option<ScriptCache>,
    files: OnceCell<Rc<ApprovedFiles>>,
    flags: OnceCell<KnownFlags>,
    engine: RefCell<Option<SequentialEngine>>,
    lines: Rc<RefCell<Vec<(ScriptLevel, String)>>>,
}

/// What a script says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    supports: Vec<String>,
    priority: i32,
    hot_path_safe: bool,
    critical: bool,
}

impl Default for Meta {
    fn default() -> Self {
        Self { supports: Vec::new(), priority: DEFAULT_PRIORITY, hot_path_safe: false, critical: false }
    }
}

impl Meta {
    /// The events it names, in any spelling.
    fn events(&self) -> Vec<EventName> {
        let event = |name: &String| EventName::known(name).unwrap_or_else(|| EventName::Other(name.clone()));
        self.supports.iter().map(event).collect()
    }
}

struct ScriptModule<'s> {
    scripts: &'s Scripts,
    name: String,
    source: Source,
    meta: Meta,
    events: Vec<EventName>,
    hooks_root: PathBuf,
    repo_root: PathBuf,
}

impl Scripts {
    /// Scripts that run only as far as the user approved them.
    #[must_use]
    pub fn new(trust: Trust, cache: Option<ScriptCache>) -> Self {
        let (files, flags) = (OnceCell::new(), OnceCell::new());
        Self { trust: Rc::new(trust), cache, files, flags, engine: RefCell::default(), lines: Rc::default() }
    }

    fn files(&self, hooks_root: &Path) -> &Rc<ApprovedFiles> {
        let open = || Rc::new(ApprovedFiles::new(hooks_root.to_path_buf(), Rc::clone(&self.trust)));
        self.files.get_or_init(open)
    }

    /// Hands a module to `work`, in the engine that all modules run in one after the other.
    fn run<T>(
        &self,
        module: &ScriptModule<'_>,
        time: Duration,
        work: impl FnOnce(&Script) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let mut slot = self.engine.borrow_mut();
        let engine = match &mut *slot {
            Some(engine) => engine,
            empty => empty.insert(self.start(&module.hooks_root, &module.repo_root)?),
        };
        engine.set_processor_budget(time);
        // Before the alarm, which would answer without a word about the module.
        engine.set_deadline(dispatch_os::time::now().checked_add(LONGEST_WAIT.max(time)));
        engine.run(&module.source, work)
    }

    fn start(&self, hooks_root: &Path, repo_root: &Path) -> Result<SequentialEngine, ScriptError> {
        let lines = Rc::clone(&self.lines);
        let sink = move |level: ScriptLevel, text: &str| lines.borrow_mut().push((level, text.to_owned()));
        let grants = Grants {
            clock: ClockGrant::Real(Box::new(|| dispatch_os::time::unix_ms() as f64)),
            log: Some(Box::new(sink)),
            host: values::host_functions(repo_root.to_path_buf()),
            sources: Some(Box::new(Imports(Rc::clone(self.files(hooks_root))))),
            cache: self
                .cache
                .as_ref()
                .map(|cache| Cache::new(FolderCache::new(cache.folder.join("scripts")), cache.trust)),
            ..Grants::default()
        };
        let limits = Limits { time: LONGEST_CALL, ..Limits::default() };
        SequentialEngine::new(limits, grants, Source::new(ENTRY_NAME, ENTRY))
    }

    /// The flags of a script, from the cache or by loading it.
    fn meta(&self, hash: &str, module: &ScriptModule<'_>, time: Duration) -> Result<Meta, ScriptError> {
        let Some(cache) = &self.cache else {
            return self.load_meta(module, time);
        };
        let flags = self.flags.get_or_init(|| KnownFlags::read(&cache.folder, &module.hooks_root));
        if let Some(meta) = flags.get(hash) {
            return Ok(meta);
        }
        let folder = FolderCache::new(cache.folder.join("modules"));
        let alone = folder.read(hash).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let meta = match alone {
            Some(meta) => meta,
            None => {
                let meta = self.load_meta(module, time)?;
                folder.write(hash, &serde_json::to_vec(&meta).unwrap_or_default());
                meta
            }
        };
        flags.keep(hash, &meta);
        Ok(meta)
    }

    fn load_meta(&self, module: &ScriptModule<'_>, time: Duration) -> Result<Meta, ScriptError> {
        let value = self.run(module, time, |script| script.export("meta"))?.unwrap_or_default();
        Ok(serde_json::from_value(value).unwrap_or_default())
    }
}

impl ScriptModules for Scripts {
    /// By what its approved files said of themselves, which is kept by their content.
    fn was_critical(&self, name: &str, paths: &Paths) -> bool {
        let Some(cache) = &self.cache else { return false };
        let folder = FolderCache::new(cache.folder.join("modules"));
        let source = paths.module_source(name);
        let approved = self.trust.iter().filter(|(path, _)| path.starts_with(&source));
        approved
            .filter_map(|(_, hash)| folder.read(hash))
            .any(|bytes| serde_json::from_slice::<Meta>(&bytes).is_ok_and(|meta| meta.critical))
    }

    fn find<'s>(&'s self, name: &str, paths: &Paths, time_left: Duration) -> FoundScript<'s> {
        if !is_module_name(name) {
            return FoundScript::Broken("its name has characters that no folder name should have".to_owned());
        }
        let files = self.files(&paths.hooks_root);
        let found =
            FILES.into_iter().find_map(|file| match files.source(&Path::new("features").join(name).join(file)) {
                Err(Denied::Unreadable(_)) => None,
                found => Some((file, found)),
            });
        let Approved { source, digest } = match found {
            None => return FoundScript::Absent,
            Some((_, Ok(approved))) => approved,
            Some((file, Err(Denied::Unapproved))) => {
                return FoundScript::Refused(format!("{file} is not approved; look at it, then run `dispatch trust`"));
            }
            Some((_, Err(denied))) => return FoundScript::Broken(denied.to_string()),
        };
        let mut module = ScriptModule {
            scripts: self,
            name: name.to_owned(),
            source,
            meta: Meta::default(),
            events: Vec::new(),
            hooks_root: paths.hooks_root.clone(),
            repo_root: paths.repo_root.clone(),
        };
        match self.meta(&digest, &module, time_left) {
            Ok(meta) => {
                module.events = meta.events();
                module.meta = meta;
                FoundScript::Module(Box::new(module))
            }
            Err(error) => FoundScript::Broken(describe(&error)),
        }
    }
}

impl ScriptModule<'_> {
    fn call(&self, ctx: &Context<'_>) -> Result<serde_json::Value, ScriptError> {
        let reserve = Duration::from_millis(ctx.timers.budget_ms) / RESERVE;
        let arguments = [values::text_of(&ctx.event.name.as_str()), values::text_of(&values::Seen::new(ctx))];
        self.scripts.run(self, ctx.timers.remaining().saturating_sub(reserve), |script| {
            script.call_with_json(&Callee::export("handle"), &arguments)
        })
    }
}

impl Module for ScriptModule<'_> {
    fn spec(&self) -> ModuleSpec<'_> {
        ModuleSpec {
            events: &self.events,
            priority: self.meta.priority,
            hot_path_safe: self.meta.hot_path_safe,
            critical: self.meta.critical,
            ..ModuleSpec::named(&self.name)
        }
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let result = self.call(ctx);
        for (level, text) in self.scripts.lines.take() {
            ctx.log(log_level(level), text);
        }
        let value = result.map_err(|error| match error.kind {
            ErrorKind::Deadline => ModuleError::Deadline(describe(&error)),
            _ => ModuleError::Failed(describe(&error)),
        })?;
        if value.is_null() {
            return Ok(HookAction::none());
        }
        let action: HookAction = serde_json::from_value(value)
            .map_err(|error| ModuleError::failed(format!("its answer is not usable: {error}")))?;
        Ok(excused(action, ctx))
    }
}

/// An objection by a rule that the user has let pass for a while is none.
fn excused(action: HookAction, ctx: &Context<'_>) -> HookAction {
    let objects = action.decision.is_some_and(|decision| decision != Decision::Allow);
    if objects && action.code.as_deref().is_some_and(|code| ctx.is_excused(code)) {
        return HookAction { decision: None, deny_reason: None, code: None, ..action };
    }
    action
}

fn describe(error: &ScriptError) -> String {
    match &error.hint {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

fn log_level(level: ScriptLevel) -> LogLevel {
    match level {
        ScriptLevel::Debug => LogLevel::Debug,
        ScriptLevel::Log | ScriptLevel::Info => LogLevel::Info,
        ScriptLevel::Warn => LogLevel::Warn,
        ScriptLevel::Error => LogLevel::Error,
    }
}

/// A name that is one folder and nothing else on every system.
fn is_module_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(plain)
}
