//! Matches one segment with groups: an automaton whose work is bounded by pattern times text.
//!
//! Pure.

use std::collections::HashMap;
use std::rc::Rc;

use crate::segment::{GroupKind, SegmentItem};

/// Steps that one match may take; a text that needs more does not match.
const MAX_STEPS: u64 = 4_000_000;

/// The steps that are left.
#[derive(Debug)]
pub(crate) struct WorkBudget(u64);

impl WorkBudget {
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
pub(crate) struct SegmentAutomaton {
    nodes: Vec<AutomatonNode>,
    start: usize,
}

#[derive(Debug, Clone)]
enum AutomatonNode {
    End,
    /// Takes one character that the item matches; a star takes any number.
    Take(SegmentItem, usize),
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
enum WildcardReach {
    Anything,
    Nothing,
}

type EndPositions = Rc<Vec<bool>>;

impl SegmentAutomaton {
    pub(crate) fn new(items: &[SegmentItem]) -> Self {
        let mut automaton = Self { nodes: vec![AutomatonNode::End], start: END };
        automaton.start = automaton.sequence(items, END);
        automaton
    }

    /// Whether the whole text matches; nothing when the work ran out.
    pub(crate) fn is_match(&self, text: &[char], work: &mut WorkBudget) -> Option<bool> {
        let wild = if matches!(text, ['.'] | ['.', '.']) { WildcardReach::Nothing } else { WildcardReach::Anything };
        let mut run = AutomatonRun { nodes: &self.nodes, text, known: HashMap::new() };
        let ends = run.ends(self.start, 0, wild, work)?;
        Some(ends.last().copied().unwrap_or(false))
    }

    fn add(&mut self, node: AutomatonNode) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn sequence(&mut self, items: &[SegmentItem], next: usize) -> usize {
        items.iter().rev().fold(next, |next, item| self.item(item, next))
    }

    fn alternatives(&mut self, alternatives: &[Vec<SegmentItem>], next: usize) -> Vec<usize> {
        alternatives.iter().map(|items| self.sequence(items, next)).collect()
    }

    fn item(&mut self, item: &SegmentItem, next: usize) -> usize {
        let SegmentItem::Group(kind, alternatives) = item else {
            return self.add(AutomatonNode::Take(item.clone(), next));
        };
        match kind {
            GroupKind::Once => {
                let ways = self.alternatives(alternatives, next);
                self.add(AutomatonNode::Split(ways))
            }
            GroupKind::Optional => {
                let mut ways = self.alternatives(alternatives, next);
                ways.push(next);
                self.add(AutomatonNode::Split(ways))
            }
            GroupKind::Not => {
                let ways = self.alternatives(alternatives, END);
                let inner = self.add(AutomatonNode::Split(ways));
                self.add(AutomatonNode::Not { inner, next })
            }
            GroupKind::Any | GroupKind::Many => {
                let after = self.add(AutomatonNode::Split(Vec::new()));
                let ways = self.alternatives(alternatives, after);
                let entry = self.add(AutomatonNode::Split(ways));
                if let Some(AutomatonNode::Split(ways)) = self.nodes.get_mut(after) {
                    ways.extend([next, entry]);
                }
                if *kind == GroupKind::Any { after } else { entry }
            }
        }
    }
}

struct AutomatonRun<'m> {
    nodes: &'m [AutomatonNode],
    text: &'m [char],
    /// Where the inside of a negation can end, by its node and where it begins.
    known: HashMap<(usize, usize), EndPositions>,
}

/// The states at one place of the text, each once.
struct ActiveStates {
    marks: Vec<usize>,
    list: Vec<usize>,
}

impl ActiveStates {
    fn add(&mut self, node: usize, generation: usize) {
        if let Some(mark) = self.marks.get_mut(node).filter(|mark| **mark != generation) {
            *mark = generation;
            self.list.push(node);
        }
    }
}

impl AutomatonRun<'_> {
    /// All places where a match that begins at `from` can end.
    fn ends(&mut self, start: usize, from: usize, wild: WildcardReach, work: &mut WorkBudget) -> Option<EndPositions> {
        let nodes = self.nodes;
        let mut ends = vec![false; self.text.len() + 1];
        let mut here = ActiveStates { marks: vec![usize::MAX; nodes.len()], list: Vec::new() };
        let mut next = vec![start];
        let mut negations: Vec<(usize, EndPositions)> = Vec::new();
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
                    Some(AutomatonNode::End) => {
                        if let Some(end) = ends.get_mut(at) {
                            *end = true;
                        }
                    }
                    Some(AutomatonNode::Split(ways)) => {
                        work.spend(ways.len())?;
                        ways.iter().for_each(|way| here.add(*way, at));
                    }
                    Some(AutomatonNode::Not { inner, next }) => {
                        let taken = self.inner_ends(*inner, at, work)?;
                        if taken.get(at) == Some(&false) {
                            here.add(*next, at);
                        }
                        if wild == WildcardReach::Anything {
                            negations.push((*next, taken));
                        }
                    }
                    Some(AutomatonNode::Take(item, after)) => {
                        self.take(item, id, *after, at, wild, &mut here, &mut next)
                    }
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
        item: &SegmentItem,
        id: usize,
        after: usize,
        at: usize,
        wild: WildcardReach,
        here: &mut ActiveStates,
        next: &mut Vec<usize>,
    ) {
        let character = self.text.get(at);
        if *item == SegmentItem::Star {
            if wild == WildcardReach::Anything {
                here.add(after, at);
                next.extend(character.map(|_| id));
            }
            return;
        }
        let takes = character.is_some_and(|character| match item {
            SegmentItem::Char(_) => item_takes(item, *character),
            _ => wild == WildcardReach::Anything && item_takes(item, *character),
        });
        if takes {
            next.push(after);
        }
    }

    fn inner_ends(&mut self, inner: usize, at: usize, work: &mut WorkBudget) -> Option<EndPositions> {
        if let Some(known) = self.known.get(&(inner, at)) {
            return Some(Rc::clone(known));
        }
        let found = self.ends(inner, at, WildcardReach::Anything, work)?;
        self.known.insert((inner, at), Rc::clone(&found));
        Some(found)
    }
}

/// Whether an item that takes exactly one character takes this one.
pub(crate) fn item_takes(item: &SegmentItem, character: char) -> bool {
    match item {
        SegmentItem::Char(wanted) => *wanted == character,
        SegmentItem::Any => true,
        SegmentItem::Class(class) => class.contains(character),
        SegmentItem::Star | SegmentItem::Never | SegmentItem::Group(..) => false,
    }
}
