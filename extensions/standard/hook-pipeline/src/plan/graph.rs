//! The order of the nodes: which are open, and whether some wait for each other.
//!
//! Pure.

use std::collections::HashMap;

use super::model::{Plan, PlanNode};
use super::progress::{NodeStatus, PlanProgress};

/// The nodes that may be worked on: not completed, and everything they depend on is.
#[must_use]
pub fn open_nodes<'p>(plan: &'p Plan, progress: &PlanProgress) -> Vec<&'p PlanNode> {
    plan.nodes.iter().filter(|node| is_open(node, progress)).collect()
}

pub(super) fn is_open(node: &PlanNode, progress: &PlanProgress) -> bool {
    let completed = |id: &str| progress.status(id) == NodeStatus::Completed;
    !completed(&node.id) && node.depends_on.iter().all(|id| completed(id))
}

/// The ids along one cycle, the first one again at the end.
pub(super) fn find_cycle(nodes: &[PlanNode]) -> Option<Vec<String>> {
    let places: HashMap<&str, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    let mut walk = DependencyWalk { nodes, places, marks: vec![VisitMark::New; nodes.len()] };
    (0..nodes.len()).find_map(|start| walk.cycle_from(start))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisitMark {
    New,
    Open,
    Done,
}

/// A walk along the dependencies, depth first, without recursion: a plan may be one long chain.
struct DependencyWalk<'n> {
    nodes: &'n [PlanNode],
    places: HashMap<&'n str, usize>,
    marks: Vec<VisitMark>,
}

/// A node on the way, and which of its dependencies comes next.
struct WalkPosition {
    at: usize,
    next: usize,
}

impl DependencyWalk<'_> {
    fn cycle_from(&mut self, start: usize) -> Option<Vec<String>> {
        let mut path = self.enter(start).into_iter().collect::<Vec<_>>();
        while let Some(stop) = path.last_mut() {
            let at = stop.at;
            let Some(id) = self.nodes.get(at).and_then(|node| node.depends_on.get(stop.next)) else {
                self.mark(at, VisitMark::Done);
                path.pop();
                continue;
            };
            stop.next += 1;
            let Some(&target) = self.places.get(id.as_str()) else {
                continue;
            };
            if self.marks.get(target) == Some(&VisitMark::Open) {
                return Some(self.names(&path, target));
            }
            path.extend(self.enter(target));
        }
        None
    }

    fn enter(&mut self, at: usize) -> Option<WalkPosition> {
        (self.marks.get(at) == Some(&VisitMark::New)).then(|| {
            self.mark(at, VisitMark::Open);
            WalkPosition { at, next: 0 }
        })
    }

    fn mark(&mut self, at: usize, mark: VisitMark) {
        if let Some(slot) = self.marks.get_mut(at) {
            *slot = mark;
        }
    }

    fn names(&self, path: &[WalkPosition], target: usize) -> Vec<String> {
        let places = path.iter().map(|stop| stop.at).skip_while(|at| *at != target).chain([target]);
        places.filter_map(|at| Some(self.nodes.get(at)?.id.clone())).collect()
    }
}
