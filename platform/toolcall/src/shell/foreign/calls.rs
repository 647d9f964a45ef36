//! Finds the calls in a code that run, remove or write something, by their names.
//!
//! Pure.

use super::Language;
use super::evaluate::{CodeValue, Evaluator};
use super::lex::CodeToken;

/// Calls that are looked at in one code.
const MAX_CALLS: usize = 256;

/// What a call does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// Runs its text, or the program and arguments of its list.
    RunsCommand,
    /// Runs its text as code of the same language.
    RunsCode,
    RemovesTree,
    Removes,
    Writes,
    /// Writes its second argument; the first is the source.
    WritesSecond,
    /// Writes its first argument if its second says so.
    Opens,
    /// Reads its first argument.
    Reads,
    /// Goes to another folder.
    Enters,
}

/// A call with what is known of its arguments.
#[derive(Debug)]
pub(super) struct FoundCall {
    pub(super) kind: CallKind,
    pub(super) arguments: Vec<CodeValue>,
    /// Whether the source goes away.
    pub(super) moves: bool,
    /// Whether all arguments are words of one command.
    pub(super) spreads: bool,
}

impl FoundCall {
    fn new(kind: CallKind, arguments: Vec<CodeValue>) -> Self {
        Self { kind, arguments, moves: false, spreads: false }
    }
}

/// The calls of a code, in their order.
pub(super) fn find(tokens: &[CodeToken], language: Language, home: Option<&str>) -> Vec<FoundCall> {
    let mut evaluator = Evaluator::new(tokens, home);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if found.len() >= MAX_CALLS {
            break;
        }
        match tokens.get(at) {
            Some(CodeToken::Command(text)) => {
                found.push(FoundCall::new(CallKind::RunsCommand, vec![CodeValue::Text(text.clone())]));
            }
            Some(CodeToken::Name(name)) => {
                evaluator.note_assignment(at);
                found.extend(call_at(&evaluator, language, name, at));
            }
            Some(CodeToken::Text(text)) if language == Language::Awk => found.extend(awk_pipe(tokens, text, at)),
            _ => {}
        }
    }
    found
}

fn sign(tokens: &[CodeToken], at: Option<usize>) -> Option<char> {
    match at.and_then(|at| tokens.get(at)) {
        Some(CodeToken::Sign(c)) => Some(*c),
        _ => None,
    }
}

/// `print | "command"`, `"command" | getline`, `print > "file"`.
fn awk_pipe(tokens: &[CodeToken], text: &str, at: usize) -> Option<FoundCall> {
    let value = vec![CodeValue::Text(text.to_owned())];
    let before = sign(tokens, at.checked_sub(1));
    let piped = before == Some('|')
        || (sign(tokens, Some(at + 1)) == Some('|')
            && tokens.get(at + 2) == Some(&CodeToken::Name("getline".to_owned())));
    match (piped, before) {
        (true, _) => Some(FoundCall::new(CallKind::RunsCommand, value)),
        (false, Some('>')) => Some(FoundCall::new(CallKind::Writes, value)),
        _ => None,
    }
}

fn call_at(evaluator: &Evaluator<'_>, language: Language, name: &str, at: usize) -> Option<FoundCall> {
    let tokens = evaluator.tokens;
    let next = tokens.get(at + 1)?;
    let opened = *next == CodeToken::Sign('(');
    let lisp = language == Language::Lisp && sign(tokens, at.checked_sub(1)) == Some('(');
    let removes = ["rm_rf", "rm_r", "remove_dir", "rmtree", "remove_entry", "remove_entry_secure", "remove_tree"]
        .iter()
        .any(|known| name.ends_with(known));
    let bare = matches!(next, CodeToken::Text(_) | CodeToken::Name(_))
        && (removes
            || matches!(next, CodeToken::Text(_))
            || (matches!(name, "system" | "exec") && calls_next(tokens, at)))
        && (matches!(language, Language::Backticks | Language::Other) || name == "$" || lisp);
    let first = if opened && !lisp { at + 2 } else { at + 1 };
    if !(opened || bare || lisp) {
        return None;
    }
    // Clojure writes `namespace/function`.
    let name = if lisp { name.rsplit('/').next().unwrap_or(name) } else { name };
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let prefix = name.strip_suffix(last).unwrap_or_default().trim_end_matches(['.', ':']);
    let method = prefix.is_empty() && sign(tokens, at.checked_sub(1)) == Some('.');
    let mut arguments = evaluator.arguments(first, if lisp { Some(' ') } else { None });
    let shell_script =
        last == "script" && matches!(tokens.get(at.wrapping_sub(1)), Some(CodeToken::Name(word)) if word == "shell");
    if matches!(
        last,
        "array_map" | "array_walk" | "call_user_func" | "call_user_func_array" | "map" | "forEach" | "each"
    ) && let Some(passed) = passed_function(evaluator, language, &arguments, first, at)
    {
        return Some(passed);
    }
    let mut call = match shell_script {
        true => FoundCall::new(CallKind::RunsCommand, Vec::new()),
        false => kind_of(last, prefix, method, language, &arguments)?,
    };
    let receiver = match method {
        true => evaluator.value_before(at - 1),
        false => evaluator.named(prefix),
    };
    let of_receiver = matches!(
        last,
        "unlink"
            | "rmdir"
            | "write_text"
            | "write_bytes"
            | "touch"
            | "rename"
            | "chmod"
            | "replace"
            | "read_text"
            | "read_bytes"
    );
    if let Some(receiver) = receiver.filter(|_| of_receiver) {
        arguments.insert(0, receiver);
    }
    call.arguments = arguments;
    Some(call)
}

/// Whether a call with parentheses follows.
fn calls_next(tokens: &[CodeToken], at: usize) -> bool {
    sign(tokens, Some(at + 2)) == Some('(')
}

/// `array_map("unlink", glob("/x/*"))`, `map(os.remove, glob.glob("/x/*"))`: a function that is handed to another one.
fn passed_function(
    evaluator: &Evaluator<'_>,
    language: Language,
    arguments: &[CodeValue],
    first: usize,
    at: usize,
) -> Option<FoundCall> {
    let name = match evaluator.tokens.get(first)? {
        CodeToken::Name(name) | CodeToken::Text(name) => name.as_str(),
        _ => return None,
    };
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let prefix = name.strip_suffix(last).unwrap_or_default().trim_end_matches(['.', ':']);
    let mut call = kind_of(last, prefix, false, language, arguments)?;
    let removes = matches!(call.kind, CallKind::Removes | CallKind::RemovesTree);
    let given = arguments.get(1).cloned().or_else(|| evaluator.value_before(at.checked_sub(1)?));
    if given.as_ref().and_then(CodeValue::text).is_some_and(|path| path.contains('*')) {
        call.kind = CallKind::RemovesTree;
    }
    call.arguments = given.into_iter().collect();
    removes.then_some(call)
}

fn kind_of(last: &str, prefix: &str, method: bool, language: Language, arguments: &[CodeValue]) -> Option<FoundCall> {
    let on_files = method
        || prefix.is_empty()
        || [
            "os",
            "fs",
            "shutil",
            "pathlib",
            "File",
            "FileUtils",
            "Dir",
            "Deno",
            "IO",
            "Files",
            "fsp",
            "promises",
            "path",
            "Path",
            "Pathname",
            "fse",
            "p",
            "io",
            "sh",
        ]
        .iter()
        .any(|known| prefix == *known || prefix.ends_with(&format!(".{known}")));
    let bare_or_files =
        !prefix.is_empty() && on_files || (prefix.is_empty() && !method && language != Language::Python);
    let python = language == Language::Python;
    let list_first = arguments.first().is_some_and(|first| first.list().is_some());
    let plain = |kind| Some(FoundCall::new(kind, Vec::new()));
    let command = |spreads| Some(FoundCall { spreads, ..FoundCall::new(CallKind::RunsCommand, Vec::new()) });
    let second = |moves| Some(FoundCall { moves, ..FoundCall::new(CallKind::WritesSecond, Vec::new()) });
    match last {
        "system" | "exec" if !python && language != Language::JavaScript => command(true),
        "system"
        | "popen"
        | "getoutput"
        | "getstatusoutput"
        | "shell_exec"
        | "passthru"
        | "proc_open"
        | "system2"
        | "execSync"
        | "shell-command"
        | "shell-command-to-string"
        | "async-shell-command"
        | "shell"
        | "$"
        | "systemlist" => command(false),
        "exec" if language == Language::JavaScript => command(false),
        "execFile" | "execFileSync" | "spawn" | "spawnSync" | "pcntl_exec" | "Command" => command(false),
        "execv" | "execve" | "execvp" | "execvpe" | "posix_spawn" => {
            // The first of the listed words is the name the program sees.
            Some(FoundCall::new(CallKind::RunsCommand, Vec::new())).filter(|_| arguments.get(1).is_some())
        }
        "execl" | "execlp" | "execle" | "spawnl" | "spawnlp" | "call-process" | "start-process" | "capture2"
        | "capture3" | "capture2e" | "pipeline" => command(true),
        "Popen" | "check_output" | "check_call" => command(false),
        "run" | "call"
            if list_first || prefix.ends_with("subprocess") || prefix == "sp" || language == Language::Other =>
        {
            command(false)
        }
        "execute" if prefix == "os" || language == Language::Other => {
            if prefix == "os" {
                command(false)
            } else {
                plain(CallKind::RunsCode)
            }
        }
        "exec" | "eval" if python && prefix.is_empty() => plain(CallKind::RunsCode),
        "eval" | "Function" | "runInThisContext" | "runInNewContext" | "instance_eval" | "assert" | "loadstring" => {
            plain(CallKind::RunsCode)
        }
        "rmtree"
        | "rmSync"
        | "rmdirSync"
        | "rimraf"
        | "rimrafSync"
        | "removeSync"
        | "emptyDirSync"
        | "rm_rf"
        | "rm_r"
        | "remove_entry"
        | "remove_entry_secure"
        | "remove_tree"
        | "remove_dir"
        | "delete-directory"
        | "removedirs"
        | "remove_dir_all"
        | "DeleteFolder"
        | "deltree" => plain(CallKind::RemovesTree),
        "remove" if prefix == "Deno" => plain(CallKind::RemovesTree),
        "rm" if bare_or_files || method => plain(CallKind::RemovesTree),
        "delete" | "Delete" if language == Language::Other => plain(CallKind::RemovesTree),
        "WriteAllText" | "WriteAllLines" | "AppendAllText" => plain(CallKind::Writes),
        "unlink" | "unlinkSync" | "delete-file" | "deleteFile" => plain(CallKind::Removes),
        "remove" | "rmdir" | "delete" if on_files && (!prefix.is_empty() || method) => plain(CallKind::Removes),
        "writeFileSync" | "writeFile" | "appendFile" | "appendFileSync" | "write_text" | "write_bytes"
        | "file_put_contents" | "createWriteStream" | "outputFile" | "outputFileSync" | "writeTextFile"
        | "writeTextFileSync" | "truncateSync" | "chmodSync" | "chownSync" | "extractall" | "with-temp-file"
        | "binwrite" => plain(CallKind::Writes),
        "write" | "chmod" | "chown" | "truncate" | "touch" if on_files && !(method && last == "write") => {
            if prefix.is_empty() && last == "write" { None } else { plain(CallKind::Writes) }
        }
        "copyfile" | "copytree" | "copy2" | "copyFile" | "copyFileSync" | "cpSync" | "cp_r" | "ln_s" | "symlink"
        | "symlinkSync" | "linkSync" | "writefile" | "copy-file" => second(false),
        "copy" | "link" | "cp" if on_files && !prefix.is_empty() => second(false),
        "renameSync" | "rename-file" => second(true),
        "move" | "rename" | "replace" | "mv" if on_files && (!prefix.is_empty() || (method && last == "rename")) => {
            second(true)
        }
        "open" | "fopen" | "openSync" | "file" => plain(CallKind::Opens),
        "readFileSync" | "readFile" | "read_text" | "read_bytes" | "readTextFile" | "readTextFileSync"
        | "file_get_contents" | "readlines" => plain(CallKind::Reads),
        "read" if matches!(prefix, "File" | "IO") => plain(CallKind::Reads),
        "chdir" => plain(CallKind::Enters),
        _ => None,
    }
}
