//! `UB01` to `UB05`: trees, walks, endless commands, fork bombs and devices.
//!
//! Pure.

use dispatch_toolcall::{Access, PathMove, SimpleCommand, ToolCall, UnboundedKind, resolve};

use super::location::{PathLocation, WorkspaceBounds, is_wild};
use super::rules::{RuleFindings, UB01, UB02, UB03, UB04, UB05};
use super::{JudgedCommand, background};

/// Programs that change disks and boot entries without naming a device file.
const DISK_PROGRAMS: &[&str] = &[
    "format-volume",
    "clear-disk",
    "initialize-disk",
    "remove-partition",
    "diskpart",
    "efibootmgr",
    "grub-install",
    "grub2-install",
    "bootctl",
    "zpool",
    "nvme",
];
/// Verbs of those that also have harmless ones.
const DISK_VERBS: &[&str] =
    &["install", "remove", "destroy", "format", "sanitize", "labelclear", "-B", "--delete-bootnum"];
/// Programs, and the beginning of a word with which they erase a disk, a volume or what restores it.
const DISK_COMMANDS: &[(&str, &str)] = &[
    ("zfs", "destroy"),
    ("btrfs", "delete"),
    ("scrub", "/dev/"),
    ("lvremove", ""),
    ("vgremove", ""),
    ("pvremove", ""),
    ("diskutil", "erase"),
    ("diskutil", "zerodisk"),
    ("diskutil", "partitiondisk"),
    ("diskutil", "secureerase"),
    ("vssadmin", "delete"),
    ("bcdedit", "/delete"),
    ("bcdedit", "/set"),
    ("wsl", "--unregister"),
    ("wsl.exe", "--unregister"),
    ("sgdisk", "--zap"),
    ("sgdisk", "-z"),
    ("mdadm", "--zero-superblock"),
    ("tmutil", "delete"),
    ("nwipe", ""),
    ("mke2fs", "/dev/"),
    ("mkdosfs", "/dev/"),
    ("mkntfs", "/dev/"),
    ("newfs", "/dev/"),
    ("partclone.restore", "/dev/"),
    ("dcfldd", "of=/dev/"),
    ("dc3dd", "of=/dev/"),
    ("dc3dd", "wipe=/dev/"),
];
/// Programs that walk a tree.
const WALKERS: &[&str] =
    &["find", "gfind", "fd", "fdfind", "grep", "egrep", "fgrep", "rg", "ag", "ack", "ls", "du", "tree"];
/// Programs that remove or change a tree and are not `find`.
const TREE_PROGRAMS: &[&str] = &["rm", "rsync", "chmod", "chown", "chgrp", "setfacl", "chattr"];
/// Tests of `find` that narrow down what it finds.
const FIND_TESTS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-lname",
    "-mtime",
    "-mmin",
    "-ctime",
    "-cmin",
    "-atime",
    "-amin",
    "-size",
    "-inum",
    "-samefile",
    "-user",
    "-group",
    "-perm",
];
const FIND_ACTIONS: &[&str] = &["-delete", "-exec", "-execdir", "-ok", "-okdir"];

/// Judges what the analysis found to have no bound.
pub(super) fn judge(shell: &JudgedCommand<'_>, findings: &mut RuleFindings) {
    for fact in &shell.effects.unbounded {
        let target = fact.target.as_str();
        match fact.what {
            UnboundedKind::RecursiveDelete | UnboundedKind::RecursiveChange => {
                let own = fact.what == UnboundedKind::RecursiveChange && only_takes_ownership(shell, target);
                if is_unbounded_tree(shell, target) && !is_judged_elsewhere(shell, target) && !own {
                    findings.push(&UB01, target);
                }
            }
            UnboundedKind::RecursiveTraversal => {
                let far = match target.starts_with('/') || target.contains(':') {
                    true => shell.workspace.is_endless_walk(target),
                    false => names_a_home(unquoted(target).as_str()),
                };
                if far && !is_timed(shell, WALKERS) && !only_measures_home(shell, target) {
                    findings.push(&UB02, target);
                }
            }
            UnboundedKind::Endless => {
                if !background::is_lifted(shell.input) {
                    findings.push(&UB03, target);
                }
            }
            UnboundedKind::ForkBomb => findings.push(&UB04, ""),
            UnboundedKind::DeviceWrite => {
                if is_guarded_device(target) {
                    findings.push(&UB05, target);
                }
            }
        }
    }
    for moved in &shell.effects.moves {
        judge_move(shell.workspace, moved, findings);
    }
    let written = shell.effects.writes.iter().chain(&shell.effects.creates).chain(&shell.effects.deletes);
    for path in written {
        if is_boot(&path.path) {
            findings.push(&UB05, &path.path);
        }
    }
    for command in shell.effects.commands.iter().filter(|command| changes_a_root(command)) {
        findings.push(&UB01, &command.program);
    }
    for path in shell.effects.writes.iter().filter(|path| path.recursive || path.path == "/") {
        if path.path == "/" || shell.workspace.home() == Some(path.path.as_str()) {
            findings.push(&UB01, &path.path);
        }
    }
    for command in shell.effects.commands.iter().filter(|command| removes_git_folder(command, shell)) {
        findings.push(&UB01, &command.program);
    }
    for command in &shell.effects.commands {
        if changes_disks(command) {
            findings.push(&UB05, &command.program);
        }
    }
}

/// `find . -name .git -exec rm -rf {} +` at the workspace's root; in a folder below it the history of others goes.
fn removes_git_folder(command: &SimpleCommand, shell: &JudgedCommand<'_>) -> bool {
    let words = command.argv.get(1..).unwrap_or_default();
    let cwd = command.cwd.as_deref().unwrap_or_default();
    let begins = words.first().filter(|word| !word.starts_with('-')).map_or(".", String::as_str);
    let at_root =
        !matches!(shell.workspace.locate(&resolve(begins, cwd, shell.workspace.home())), PathLocation::Inside);
    let named = words
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "-name" | "-path") && pair[1].trim_start_matches("./") == ".git");
    let negated = words.iter().any(|word| matches!(word.as_str(), "!" | "-not"));
    let removes = words.iter().any(|word| matches!(word.as_str(), "rm" | "-delete" | "/bin/rm" | "shred"));
    command.program == "find" && at_root && named && !negated && removes
}

/// Judges the paths of a tool that runs no command.
pub(super) fn judge_paths(call: &ToolCall, workspace: &WorkspaceBounds<'_>, findings: &mut RuleFindings) {
    for path in call.paths.iter().filter(|path| path.access != Access::Read) {
        let removed = path.access == Access::Delete;
        if removed && matches!(workspace.locate(&path.path), PathLocation::Root | PathLocation::Above) {
            findings.push(&UB01, &path.path);
        }
        if is_boot(&path.path) || (path.path.starts_with("/dev/") && is_guarded_device(&path.path)) {
            findings.push(&UB05, &path.path);
        }
    }
}

/// `chown -R "$(id -u)" .` gives the workspace to the user who owns it anyway.
fn only_takes_ownership(shell: &JudgedCommand<'_>, target: &str) -> bool {
    const SELF: &[&str] = &["$(id -u)", "$USER", "${USER}", "$(whoami)", "$(id -un)", "$UID", "$LOGNAME", "${UID}"];
    let mut changes = shell.effects.commands.iter().filter(|command| TREE_PROGRAMS.contains(&command.program.as_str()));
    let to_self = |command: &SimpleCommand| {
        let owner = command.argv.iter().skip(1).find(|word| !word.starts_with('-'));
        let owner = owner.map(|owner| unquoted(owner)).unwrap_or_default();
        command.program == "chown" && SELF.iter().any(|own| owner.starts_with(own))
    };
    shell.workspace.is_root(target) && changes.all(to_self)
}

/// `du` of the home folder says how large it is.
fn only_measures_home(shell: &JudgedCommand<'_>, target: &str) -> bool {
    let mut walks = shell.effects.commands.iter().filter(|command| WALKERS.contains(&command.program.as_str()));
    let base = target.trim_end_matches(['*', '/']);
    let home = shell.workspace.home() == Some(base) || names_a_home(&unquoted(target));
    home && walks.all(|command| command.program == "du")
}

/// Whether a tree is known to have no bound; a tree that is not known is not judged by this rule.
fn is_unbounded_tree(shell: &JudgedCommand<'_>, target: &str) -> bool {
    match target.starts_with('/') || target.get(1..2) == Some(":") || target.starts_with("\\\\") {
        true => !shell.workspace.is_bounded_tree(target),
        false => is_unresolved_root(shell.text, &unquoted(target)),
    }
}

/// A path that could not be resolved, but is a whole folder whatever it turns out to be.
fn is_unresolved_root(text: &str, target: &str) -> bool {
    if names_a_home(target) {
        return true;
    }
    if let Some(rest) = below_toplevel(target) {
        return rest.is_empty()
            || rest == ".git"
            || rest.split('/').all(|part| matches!(part, "." | "..") || is_wild(part));
    }
    let Some(variable) = target.strip_prefix('$') else {
        // `cd build; rm -rf *`: where `cd` fails, this is the folder before it.
        return !target.is_empty() && target.split('/').all(|part| matches!(part, "" | "." | "..") || is_wild(part));
    };
    let (name, rest) = match variable.strip_prefix('{') {
        Some(braced) => braced.split_once('}').unwrap_or_default(),
        None => {
            variable.split_at(variable.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(variable.len()))
        }
    };
    let plain = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    // `$X/usr` is `/usr` where the variable is not set, unless its name says that it is a folder.
    let system = matches!(
        rest.trim_end_matches(['/', '*']),
        "/usr" | "/etc" | "/bin" | "/lib" | "/var" | "/home" | "/opt" | "/boot" | "/root" | "/sbin"
    );
    let folder = [
        "DIR", "ROOT", "PREFIX", "BUILD", "OUT", "DIST", "STAG", "TMP", "TEMP", "PKG", "SYS", "DEST", "INSTALL",
        "TARGET", "WORK", "PWD", "HOME", "CACHE", "PATH", "IMAGE", "MNT",
    ];
    let upper = name.to_ascii_uppercase();
    if plain && system && !assigns(text, name) && !folder.iter().any(|part| upper.contains(part)) {
        return true;
    }
    // `"$X"/*` is `/*` where the variable is not set.
    plain
        && rest.starts_with('/')
        && rest.split('/').all(|part| matches!(part, "" | "." | "..") || is_wild(part))
        && (!assigns(text, name) || rest.contains("/.."))
}

/// What stands behind a substitution that gives the root of the repository or the folder above.
fn below_toplevel(target: &str) -> Option<&str> {
    let inner = target.strip_prefix("$(").or_else(|| target.strip_prefix('`'))?;
    let (command, rest) = inner.rsplit_once([')', '`'])?;
    let command = command.trim();
    let whole = ["git rev-parse --show-toplevel", "git rev-parse --git-dir", "git rev-parse --git-common-dir"];
    whole.iter().any(|known| command.starts_with(known)).then(|| rest.trim_matches('/'))
}

fn names_a_home(target: &str) -> bool {
    target.starts_with('~')
        || ["$HOME", "${HOME}"]
            .iter()
            .any(|home| target.strip_prefix(home).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

fn assigns(text: &str, name: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let before = rest.get(..at).and_then(|head| head.chars().next_back());
        let after = rest.get(at + name.len()..).unwrap_or_default();
        let starts = before.is_none_or(|c| c != '_' && c != '$' && c != '{' && !c.is_ascii_alphanumeric());
        if starts && (after.starts_with('=') || after.starts_with(" in ")) {
            return true;
        }
        rest = after;
    }
    false
}

fn unquoted(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '"' | '\'')).collect()
}

/// Trees that another rule judges, or that a test of `find` narrows down.
fn is_judged_elsewhere(shell: &JudgedCommand<'_>, target: &str) -> bool {
    let commands = &shell.effects.commands;
    let direct = commands.iter().any(|command| {
        TREE_PROGRAMS.contains(&command.program.as_str())
            && !command.wrapped_by.iter().any(|by| by == "find")
            && (!command.exact || may_name(shell.workspace, command, target))
    });
    if direct {
        return false;
    }
    let finds: Vec<FindCall> = commands.iter().filter_map(|command| FindCall::of(shell.workspace, command)).collect();
    if finds.is_empty() {
        return commands
            .iter()
            .any(|command| command.program == "git" && command.argv.iter().any(|word| word == "clean"));
    }
    let mut concerned = finds.iter().filter(|find| find.may_cover(target)).peekable();
    concerned.peek().is_some() && concerned.all(|find| find.is_narrow && find.covers(target))
}

/// Whether a word of a call is a folder, or a pattern for all that is in it. `rm -rf build` beside a `find` is not.
fn may_name(workspace: &WorkspaceBounds<'_>, command: &SimpleCommand, target: &str) -> bool {
    let cwd = command.cwd.as_deref().unwrap_or_default();
    let folder = target.trim_end_matches(['*', '/']);
    cwd.is_empty()
        || command.argv.iter().skip(1).filter(|word| !word.starts_with('-')).any(|word| {
            let path = resolve(word, cwd, workspace.home());
            let fixed = path.trim_end_matches(['*', '/']);
            folder == fixed || folder.strip_prefix(fixed).is_some_and(|rest| rest.starts_with('/'))
        })
}

/// A `find` that removes or runs something.
struct FindCall {
    /// Where it starts; nothing if that is not known or not in the workspace.
    roots: Vec<String>,
    deletes: bool,
    runs: bool,
    /// Whether a test selects what it acts on.
    is_narrow: bool,
}

impl FindCall {
    fn of(workspace: &WorkspaceBounds<'_>, command: &SimpleCommand) -> Option<Self> {
        let words: Vec<&str> = command.argv.iter().skip(1).map(String::as_str).collect();
        let start = words.iter().position(|word| word.starts_with(['-', '!', '('])).unwrap_or(words.len());
        let (named, expression) = words.split_at(start);
        if command.program != "find" || !expression.iter().any(|word| FIND_ACTIONS.contains(word)) {
            return None;
        }
        let named = if named.is_empty() { &["."][..] } else { named };
        let cwd = command.cwd.as_deref().filter(|_| command.exact);
        let resolved = cwd.map(|cwd| named.iter().map(|root| resolve(root, cwd, workspace.home())).collect::<Vec<_>>());
        let inside = |root: &String| matches!(workspace.locate(root), PathLocation::Inside | PathLocation::Root);
        Some(Self {
            roots: resolved.filter(|roots| roots.iter().all(inside)).unwrap_or_default(),
            deletes: expression.contains(&"-delete"),
            runs: expression.iter().any(|word| FIND_ACTIONS.contains(word) && *word != "-delete"),
            is_narrow: alternatives(expression).all(|(tests, acts)| !acts || selects(tests)),
        })
    }

    /// Whether the fact about this target can only come from what is found.
    fn covers(&self, target: &str) -> bool {
        self.roots.iter().any(|root| match target.strip_prefix(root.as_str()) {
            Some("") => self.deletes,
            Some(rest) => rest == "/**" && self.runs,
            None => false,
        })
    }

    /// The same, but a start that is not known may be any.
    fn may_cover(&self, target: &str) -> bool {
        self.roots.is_empty() || self.roots.iter().any(|root| target.starts_with(root.as_str()))
    }
}

/// The parts of an expression between `-o`: the tests before the first action, and whether there is one.
fn alternatives<'e>(expression: &'e [&'e str]) -> impl Iterator<Item = (&'e [&'e str], bool)> {
    expression.split(|word| matches!(*word, "-o" | "-or" | ",")).map(|part| {
        let action = part.iter().position(|word| FIND_ACTIONS.contains(word));
        (part.get(..action.unwrap_or(part.len())).unwrap_or_default(), action.is_some())
    })
}

fn selects(tests: &[&str]) -> bool {
    if tests.windows(2).any(|pair| matches!(pair, ["!" | "-not", "("])) {
        return false;
    }
    let mut depth = 0_usize;
    let mut selected = false;
    for (at, test) in tests.iter().enumerate() {
        let negated =
            at.checked_sub(1).and_then(|before| tests.get(before)).is_some_and(|word| matches!(*word, "!" | "-not"));
        match *test {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "-o" | "-or" | "," if depth == 0 => return false,
            "-empty" => selected |= !negated,
            test if FIND_TESTS.contains(&test) || test.starts_with("-newer") => {
                let value = tests.get(at + 1).copied().unwrap_or_default();
                selected |= !negated && !value.trim_start_matches("./").split('/').all(is_wild);
            }
            _ => {}
        }
    }
    selected
}

fn is_timed(shell: &JudgedCommand<'_>, programs: &[&str]) -> bool {
    let mut timed =
        shell.effects.commands.iter().filter(|command| programs.contains(&command.program.as_str())).peekable();
    timed.peek().is_some() && timed.all(|command| command.wrapped_by.iter().any(|by| by.ends_with("timeout")))
}

/// A move takes a whole folder along; a name with an extension is taken for a file.
fn judge_move(workspace: &WorkspaceBounds<'_>, moved: &PathMove, findings: &mut RuleFindings) {
    let from = moved.from.path.as_str();
    let name = from.rsplit(['/', '\\']).next().unwrap_or(from);
    let is_file = name.trim_start_matches('.').contains('.') && !is_wild(name);
    let unbounded = match workspace.locate(from) {
        PathLocation::Root | PathLocation::Above => true,
        PathLocation::Outside => !is_file,
        PathLocation::Inside | PathLocation::Scratch => false,
    };
    if unbounded || (moved.to.path.starts_with("/dev/null") && !is_file) {
        findings.push(&UB01, from);
    }
}

/// Terminals, sound and random numbers take what is written without losing anything.
fn is_guarded_device(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    !["tty", "pts/", "random", "urandom", "snd/", "dsp", "kmsg", "log", "uinput", "input/", "video"]
        .iter()
        .any(|harmless| name.starts_with(harmless))
}

fn is_boot(path: &str) -> bool {
    path == "/boot"
        || path == "/efi"
        || path.starts_with("/boot/")
        || path.starts_with("/efi/")
        || path == "/proc/sysrq-trigger"
}

/// `xattr -cr /`, `rm -rf C:/`.
fn changes_a_root(command: &SimpleCommand) -> bool {
    let words = || command.argv.iter().skip(1).map(String::as_str);
    let is_drive = |word: &str| matches!(word.as_bytes(), [letter, b':'] | [letter, b':', b'/' | b'\\'] if letter.is_ascii_alphabetic());
    let deep = words().any(|word| word.starts_with('-') && word.contains(['r', 'R']));
    match command.program.as_str() {
        "xattr" | "chflags" | "chcon" => deep && words().any(|word| word == "/"),
        "rm" | "chmod" | "chown" => deep && words().any(is_drive),
        _ => false,
    }
}

fn changes_disks(command: &SimpleCommand) -> bool {
    let about = ["--help", "-h", "--version", "-V", "--dry-run", "list", "status"];
    if command.argv.iter().skip(1).any(|word| about.contains(&word.as_str())) {
        return false;
    }
    // These read one place and write another, which stands behind it.
    let mut operands = command.argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    let target = match command.program.as_str() {
        "ddrescue" => operands.skip(1).find(|word| word.starts_with("/dev/")),
        "qemu-img" => operands.next_back().filter(|word| word.starts_with("/dev/")),
        _ => None,
    };
    if target.is_some_and(|target| is_guarded_device(target)) {
        return true;
    }
    if DISK_COMMANDS.iter().any(|(name, verb)| {
        command.program.eq_ignore_ascii_case(name)
            && (verb.is_empty() || command.argv.iter().skip(1).any(|word| word.to_ascii_lowercase().starts_with(verb)))
    }) {
        return true;
    }
    let acts = || command.argv.iter().skip(1).any(|word| DISK_VERBS.contains(&word.as_str()));
    let program = command.program.as_str();
    DISK_PROGRAMS.contains(&program)
        && (program.starts_with("grub") || program.contains('-') && !program.contains("boot") || acts())
}
