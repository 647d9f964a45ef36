//! What the shell remembers between two commands: folder, variables, functions, options.
//!
//! Pure.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::field::{ShellField, VariableValue};
use super::lexer::Quoting;
use super::limits::{MAX_DIRECTORIES, MAX_NAMES};
use crate::path;

/// The folders that may be the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkingDirectories {
    /// One of these.
    Known(Vec<String>),
    /// Any.
    Unknown,
}

impl WorkingDirectories {
    pub(super) fn at(path: &str) -> Self {
        if path.is_empty() { Self::Unknown } else { Self::Known(vec![path.to_owned()]) }
    }

    /// The folder, if exactly one is possible.
    pub(super) fn single(&self) -> Option<&str> {
        match self {
            Self::Known(paths) if paths.len() == 1 => paths.first().map(String::as_str),
            _ => None,
        }
    }

    /// A path seen from each possible folder; `None` if it is relative and no folder is known.
    pub(super) fn resolve(&self, text: &str) -> Option<Vec<String>> {
        if text.starts_with('/') {
            return Some(vec![path::normalize(text)]);
        }
        match self {
            Self::Known(paths) => Some(paths.iter().map(|cwd| path::join(text, cwd)).collect()),
            Self::Unknown => None,
        }
    }

    fn join(&self, other: &Self) -> Self {
        let (Self::Known(left), Self::Known(right)) = (self, other) else {
            return Self::Unknown;
        };
        let mut all = left.clone();
        all.extend(right.iter().filter(|path| !left.contains(path)).cloned());
        if all.len() > MAX_DIRECTORIES { Self::Unknown } else { Self::Known(all) }
    }
}

/// What a name runs when it is a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellFunction {
    /// This text.
    Body(Rc<str>),
    /// One of several texts, or perhaps none.
    Ambiguous,
}

/// What happens to statements after a failed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnError {
    Continue,
    Exit,
}

/// The state between two commands. Cloning is cheap: the maps are shared until they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellState {
    pub(super) directories: WorkingDirectories,
    pub(super) previous: WorkingDirectories,
    pub(super) stack: Vec<WorkingDirectories>,
    pub(super) positional: Option<Rc<Vec<ShellField>>>,
    pub(super) on_error: OnError,
    /// No statement after this point is reached.
    pub(super) ended: bool,
    /// References between variables exist, so no value can be relied on.
    pub(super) variables_opaque: bool,
    home: Option<Rc<str>>,
    variables: Rc<BTreeMap<String, VariableValue>>,
    names: Rc<DefinedNames>,
}

/// What names stand for other than a value. Most commands define none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct DefinedNames {
    functions: BTreeMap<String, ShellFunction>,
    aliases: BTreeMap<String, String>,
    /// Variables that stand for others (`declare -n`).
    references: BTreeMap<String, String>,
}

impl ShellState {
    pub(super) fn new(cwd: &str, home: Option<&str>) -> Self {
        Self {
            directories: WorkingDirectories::at(cwd),
            previous: WorkingDirectories::Unknown,
            stack: Vec::new(),
            positional: None,
            on_error: OnError::Continue,
            ended: false,
            variables_opaque: false,
            home: home.map(Rc::from),
            variables: Rc::default(),
            names: Rc::default(),
        }
    }

    /// The state of a new shell started here: what it inherits depends on what was exported.
    pub(super) fn child(&self) -> Self {
        let mut inner = self.clone();
        inner.positional = None;
        inner.on_error = OnError::Continue;
        inner.stack.clear();
        for value in Rc::make_mut(&mut inner.variables).values_mut() {
            *value = VariableValue::Unknown;
        }
        for function in Rc::make_mut(&mut inner.names).functions.values_mut() {
            *function = ShellFunction::Ambiguous;
        }
        inner
    }

    pub(super) fn home(&self) -> Option<String> {
        match self.variables.get("HOME") {
            Some(VariableValue::Known(home)) => Some(home.clone()),
            Some(_) => None,
            None => self.home.as_deref().map(str::to_owned),
        }
    }

    pub(super) fn variable(&self, name: &str) -> VariableValue {
        if self.variables_opaque {
            return VariableValue::Unknown;
        }
        let name = self.referred(name);
        if let Some(value) = self.variables.get(name) {
            return value.clone();
        }
        let known = match name {
            "HOME" => self.home(),
            "PWD" => self.directories.single().map(str::to_owned),
            "OLDPWD" => self.previous.single().map(str::to_owned),
            "IFS" => Some(" \t\n".to_owned()),
            _ => None,
        };
        known.map_or(VariableValue::Unknown, VariableValue::Known)
    }

    /// `$1`, `$@`, `$#` and the like.
    pub(super) fn special(&self, name: char, quoting: Quoting) -> VariableValue {
        let Some(words) = &self.positional else {
            return VariableValue::Unknown;
        };
        match name {
            '@' | '*' => self.all_arguments(name, quoting, words),
            '#' if words.iter().all(|word| !word.splits) => VariableValue::Known(words.len().to_string()),
            '1'..='9' => {
                let index = name.to_digit(10).map_or(0, |digit| digit as usize);
                let mut before = words.iter().take(index);
                if before.clone().any(|word| word.splits) {
                    return VariableValue::Unknown;
                }
                before
                    .next_back()
                    .filter(|_| words.len() >= index)
                    .map_or_else(|| VariableValue::Known(String::new()), VariableValue::of)
            }
            _ => VariableValue::Unknown,
        }
    }

    fn all_arguments(&self, name: char, quoting: Quoting, words: &Rc<Vec<ShellField>>) -> VariableValue {
        let plain = |word: &ShellField| word.known().is_some_and(|text| !text.contains(char::is_whitespace));
        match (name, quoting) {
            ('@', Quoting::Quoted) => VariableValue::List(words.to_vec()),
            (_, Quoting::Bare) if words.iter().all(plain) => VariableValue::List(words.to_vec()),
            (_, Quoting::Quoted) if words.iter().all(|word| word.known().is_some()) => {
                VariableValue::Known(words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
            }
            _ => VariableValue::Unknown,
        }
    }

    /// Makes a variable stand for another one.
    pub(super) fn refer(&mut self, name: &str, target: &str) {
        if self.names.references.len() >= MAX_NAMES || self.names.references.contains_key(target) {
            return self.forget_variables();
        }
        Rc::make_mut(&mut self.names).references.insert(name.to_owned(), target.to_owned());
    }

    fn referred<'n>(&'n self, name: &'n str) -> &'n str {
        self.names.references.get(name).map_or(name, String::as_str)
    }

    pub(super) fn assign(&mut self, name: &str, value: VariableValue) {
        let name = &self.referred(name).to_owned();
        if self.variables.len() >= MAX_NAMES && !self.variables.contains_key(name) {
            self.variables_opaque = true;
            return;
        }
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    pub(super) fn forget_variables(&mut self) {
        self.variables_opaque = true;
    }

    /// Whether the characters that split words are still the usual ones.
    pub(super) fn splits_as_usual(&self) -> bool {
        !self.variables.contains_key("IFS") && !self.variables_opaque
    }

    /// Words are split at blanks again.
    pub(super) fn split_as_usual(&mut self) {
        Rc::make_mut(&mut self.variables).remove("IFS");
    }

    pub(super) fn define(&mut self, name: &str, body: &str) {
        if self.names.functions.len() < MAX_NAMES {
            Rc::make_mut(&mut self.names).functions.insert(name.to_owned(), ShellFunction::Body(Rc::from(body)));
        }
    }

    pub(super) fn undefine(&mut self, name: &str) {
        if self.names.functions.contains_key(name) {
            Rc::make_mut(&mut self.names).functions.remove(name);
        }
    }

    pub(super) fn function(&self, name: &str) -> Option<&ShellFunction> {
        self.names.functions.get(name)
    }

    pub(super) fn add_alias(&mut self, name: &str, meaning: &str) {
        if self.names.aliases.len() < MAX_NAMES {
            Rc::make_mut(&mut self.names).aliases.insert(name.to_owned(), meaning.to_owned());
        }
    }

    /// What a name stands for as an alias.
    pub(super) fn alias(&self, name: &str) -> Option<String> {
        self.names.aliases.get(name).cloned()
    }

    /// Whether this command gave the variable a value.
    pub(super) fn is_assigned(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// The value of a variable where one word is wanted: of a list, its first.
    pub(super) fn scalar(&self, name: &str) -> VariableValue {
        match self.variable(name) {
            VariableValue::List(fields) => {
                fields.first().map_or_else(|| VariableValue::Known(String::new()), VariableValue::of)
            }
            value => value,
        }
    }

    /// The value after `name[index]=value`, `name+=value` or `name+=(list)`.
    pub(super) fn joined_value(
        &self,
        name: &str,
        index: Option<&str>,
        adds: bool,
        value: VariableValue,
    ) -> VariableValue {
        let before = if self.is_assigned(name) { self.variable(name) } else { VariableValue::List(Vec::new()) };
        match (before, index, value) {
            (VariableValue::Known(before), None, VariableValue::Known(more)) if adds => {
                VariableValue::Known(before + &more)
            }
            (VariableValue::List(before), None, VariableValue::Known(more)) if before.is_empty() => {
                VariableValue::Known(more)
            }
            (VariableValue::List(mut before), None, VariableValue::List(more)) => {
                before.extend(more);
                VariableValue::List(before)
            }
            (VariableValue::List(mut before), Some(index), value) if !adds => match index.parse::<usize>() {
                Ok(index) if index <= before.len() && index < MAX_NAMES => {
                    let field = match value {
                        VariableValue::Known(text) => ShellField::literal(&text),
                        _ => ShellField::unknown(name),
                    };
                    if index == before.len() {
                        before.push(field);
                    } else if let Some(place) = before.get_mut(index) {
                        *place = field;
                    }
                    VariableValue::List(before)
                }
                _ => VariableValue::Unknown,
            },
            _ => VariableValue::Unknown,
        }
    }

    /// What holds if either state may be the present one.
    pub(super) fn join(self, other: Self) -> Self {
        if self.ended && !other.ended {
            return other;
        }
        if other.ended && !self.ended || self == other {
            return self;
        }
        Self {
            directories: self.directories.join(&other.directories),
            previous: self.previous.join(&other.previous),
            stack: if self.stack == other.stack { self.stack } else { Vec::new() },
            positional: if self.positional == other.positional { self.positional } else { None },
            on_error: if self.on_error == other.on_error { self.on_error } else { OnError::Continue },
            ended: self.ended && other.ended,
            variables_opaque: self.variables_opaque || other.variables_opaque,
            home: self.home,
            variables: if Rc::ptr_eq(&self.variables, &other.variables) {
                self.variables
            } else {
                Rc::new(join_maps(&self.variables, &other.variables, &VariableValue::Unknown))
            },
            names: if Rc::ptr_eq(&self.names, &other.names) { self.names } else { self.names.join(&other.names) },
        }
    }
}

impl DefinedNames {
    fn join(&self, other: &Self) -> Rc<Self> {
        let aliases = self.aliases.iter().chain(&other.aliases);
        Rc::new(Self {
            functions: join_maps(&self.functions, &other.functions, &ShellFunction::Ambiguous),
            aliases: aliases.map(|(name, text)| (name.clone(), text.clone())).collect(),
            references: join_maps(&self.references, &other.references, &String::new()),
        })
    }
}

fn join_maps<V: Clone + PartialEq>(
    left: &BTreeMap<String, V>,
    right: &BTreeMap<String, V>,
    ambiguous: &V,
) -> BTreeMap<String, V> {
    let mut joined = left.clone();
    for (name, value) in &mut joined {
        if right.get(name) != Some(value) {
            *value = ambiguous.clone();
        }
    }
    for name in right.keys().filter(|name| !left.contains_key(*name)) {
        joined.insert(name.clone(), ambiguous.clone());
    }
    joined
}

/// The key of an element in a list by keys; a number counts elements, and what is computed is no key.
pub(super) fn element_key(index: &str) -> Option<&str> {
    let key = index.trim_matches(['"', '\'']);
    let plain = !key.is_empty() && !key.contains(['$', '`', '@', '*', '[', ']']);
    (plain && key.parse::<i64>().is_err()).then_some(key)
}

/// The name under which such an element is kept.
pub(super) fn element_name(list: &str, key: &str) -> String {
    format!("{list}[{key}]")
}

/// The states after a command that worked and after one that did not.
#[derive(Debug, Clone)]
pub(super) struct CommandOutcome {
    pub(super) success: ShellState,
    pub(super) failure: ShellState,
}

impl CommandOutcome {
    pub(super) fn same(state: ShellState) -> Self {
        Self { success: state.clone(), failure: state }
    }

    /// The state for the next statement.
    pub(super) fn settle(self) -> ShellState {
        match self.success.on_error {
            OnError::Exit => self.success,
            OnError::Continue => self.success.join(self.failure),
        }
    }
}
