//! Matches one segment with groups: a machine whose work grows with pattern times text, never faster.

use std::collections::HashMap;
use std::rc::Rc;

use crate::segment::{Item, Kind};

/// Steps that one match may take; a match that needs more is none.
const MAX_STEPS: u64 = 4_000_000;

/// The steps that are left.
#[derive(Debug)]
pub(crate) struct Work(u64);

impl Work {
    pub(crate) fn new() -> Self {
        Self(MAX_STEPS)
    }

    /// Counts steps; nothing when there are none left.
    pub(crate) fn spend(&mut self, steps: usize) -> Option<()> {
        self.0 = self.0.checked_sub(steps as u64)?;
        Some(())
    }
}

/// A segment as a graph of states.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    nodes: Vec<Node>,
    start: usize,
}

#[derive(Debug, Clone)]
enum Node {
    End,
    /// Takes one character that the item matches; a star takes any number.
    Take(Item, usize),
    Split(Vec<usize>),
    /// Takes any text that the inner graph does not match.
    Not {
        inner: usize,
        next: usize,
    },
}

const END: usize = 0;

/// What wildcards may take: `.` and `..` are only ever matched by their dots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wild {
    Anything,
    Nothing,
}

type Ends = Rc<Vec<bool>>;

impl Machine {
    pub(crate) fn new(items: &[Item]) -> Self {
        let mut machine = Self { nodes: vec![Node::End], start: END };
        machine.start = machine.sequence(items, END);
        machine
    }

    /// Whether the whole text matches; nothing when the work ran out.
    pub(crate) fn is_match(&self, text: &[char], work: &mut Work) -> Option<bool> {
        let wild = if matches!(text, ['.'] | ['.', '.']) { Wild::Nothing } else { Wild::Anything };
        let mut run = Run { nodes: &self.nodes, text, known: HashMap::new() };
        let ends = run.ends(self.start, 0, wild, work)?;
        Some(ends.last().copied().unwrap_or(false))
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn sequence(&mut self, items: &[Item], next: usize) -> usize {
        items.iter().rev().fold(next, |next, item| self.item(item, next))
    }

    fn alternatives(&mut self, alternatives: &[Vec<Item>], next: usize) -> Vec<usize> {
        alternatives.iter().map(|items| self.sequence(items, next)).collect()
    }

    fn item(&mut self, item: &Item, next: usize) -> usize {
        let Item::Group(kind, alternatives) = item else {
            return self.add(Node::Take(item.clone(), next));
        };
        match kind {
            Kind::Once => {
                let ways = self.alternatives(alternatives, next);
                self.add(Node::Split(ways))
            }
            Kind::Optional => {
                let mut ways = self.alternatives(alternatives, next);
                ways.push(next);
                self.add(Node::Split(ways))
            }
            Kind::Not => {
                let ways = self.alternatives(alternatives, END);
                let inner = self.add(Node::Split(ways));
                self.add(Node::Not { inner, next })
            }
            Kind::Any | Kind::Many => {
                let after = self.add(Node::Split(Vec::new()));
                let ways = self.alternatives(alternatives, after);
                let entry = self.add(Node::Split(ways));
                if let Some(Node::Split(ways)) = self.nodes.get_mut(after) {
                    ways.extend([next, entry]);
                }
                if *kind == Kind::Any { after } else { entry }
            }
        }
    }
}

struct Run<'m> {
    nodes: &'m [Node],
    text: &'m [char],
    /// Where the inside of a negation can end, by its node and where it begins.
    known: HashMap<(usize, usize), Ends>,
}

/// The states at one place of the text, each once.
struct States {
    marks: Vec<usize>,
    list: Vec<usize>,
}

impl States {
    fn add(&mut self, node: usize, generation: usize) {
        if let Some(mark) = self.marks.get_mut(node).filter(|mark| **mark != generation) {
            *mark = generation;
            self.list.push(node);
        }
    }
}

impl Run<'_> {
    /// All places where a match that begins at `from` can end.
    fn ends(&mut self, start: usize, from: usize, wild: Wild, work: &mut Work) -> Option<Ends> {
        let nodes = self.nodes;
        let mut ends = vec![false; self.text.len() + 1];
        let mut here = States { marks: vec![usize::MAX; nodes.len()], list: Vec::new() };
        let mut next = vec![start];
        let mut negations: Vec<(usize, Ends)> = Vec::new();
        work.spend(nodes.len() + ends.len())?;
        for at in from..=self.text.len() {
            here.list.clear();
            for node in next.drain(..) {
                here.add(node, at);
            }
            work.spend(negations.len() + 1)?;
            for (after, taken) in &negations {
                if taken.get(at) == Some(&false) {
                    here.add(*after, at);
                }
            }
            let mut index = 0;
            while let Some(&id) = here.list.get(index) {
                index += 1;
                work.spend(1)?;
                match nodes.get(id) {
                    Some(Node::End) => {
                        if let Some(end) = ends.get_mut(at) {
                            *end = true;
                        }
                    }
                    Some(Node::Split(ways)) => {
                        work.spend(ways.len())?;
                        ways.iter().for_each(|way| here.add(*way, at));
                    }
                    Some(Node::Not { inner, next }) => {
                        let taken = self.inner_ends(*inner, at, work)?;
                        if taken.get(at) == Some(&false) {
                            here.add(*next, at);
                        }
                        if wild == Wild::Anything {
                            negations.push((*next, taken));
                        }
                    }
                    Some(Node::Take(item, after)) => self.take(item, id, *after, at, wild, &mut here, &mut next),
                    None => {}
                }
            }
            if next.is_empty() && negations.is_empty() {
                break;
            }
        }
        Some(Rc::new(ends))
    }

    #[allow(clippy::too_many_arguments, reason = "one step of the loop above, cut out to be read on its own")]
    fn take(
        &self,
        item: &Item,
        id: usize,
        after: usize,
        at: usize,
        wild: Wild,
        here: &mut States,
        next: &mut Vec<usize>,
    ) {
        let character = self.text.get(at);
        if *item == Item::Star {
            if wild == Wild::Anything {
                here.add(after, at);
                next.extend(character.map(|_| id));
            }
            return;
        }
        let takes = character.is_some_and(|character| match item {
            Item::Char(_) => item_takes(item, *character),
            _ => wild == Wild::Anything && item_takes(item, *character),
        });
        if takes {
            next.push(after);
        }
    }

    fn inner_ends(&mut self, inner: usize, at: usize, work: &mut Work) -> Option<Ends> {
        if let Some(known) = self.known.get(&(inner, at)) {
            return Some(Rc::clone(known));
        }
        let found = self.ends(inner, at, Wild::Anything, work)?;
        self.known.insert((inner, at), Rc::clone(&found));
        Some(found)
    }
}

/// Whether an item that takes exactly one character takes this one.
pub(crate) fn item_takes(item: &Item, character: char) -> bool {
    match item {
        Item::Char(wanted) => *wanted == character,
        Item::Any => true,
        Item::Class(class) => class.contains(character),
        Item::Star | Item::Never | Item::Group(..) => false,
    }
}
