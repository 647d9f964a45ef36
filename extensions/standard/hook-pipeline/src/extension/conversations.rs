//! What is remembered of sessions between the kernel's hooks: which turn is open, and what the model is still to read.

use std::collections::{BTreeMap, VecDeque};

use dispatch_contracts::hooks::TurnRef;
use dispatch_contracts::ids::{CallId, SessionId};

/// More sessions than this are not remembered; the oldest counts as new when it comes back.
const MAX_SESSIONS: usize = 1024;
/// Notes of more calls than this are dropped, oldest first: calls that never came to a result.
const MAX_CALLS: usize = 256;
/// More notes for one turn are dropped.
const MAX_NOTES: usize = 64;

/// The sessions that were seen.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    known: BTreeMap<SessionId, Conversation>,
    order: VecDeque<SessionId>,
}

#[derive(Debug, Default)]
struct Conversation {
    open: Option<TurnRef>,
    notes: Vec<String>,
    /// Notes of a turn that is over, for the next one.
    carried: Vec<String>,
    calls: VecDeque<(CallId, Vec<String>)>,
}

/// What a request says about its turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entered {
    pub(super) is_new_session: bool,
    pub(super) is_new_turn: bool,
    /// A turn whose end was not heard of yet.
    pub(super) left: Option<TurnRef>,
}

impl Conversations {
    /// A request of this turn is about to be made.
    pub(super) fn enter(&mut self, turn: &TurnRef) -> Entered {
        let is_new_session = !self.known.contains_key(&turn.session);
        let conversation = self.open(&turn.session);
        let is_new_turn = conversation.open.as_ref() != Some(turn);
        let left = if is_new_turn { conversation.open.replace(turn.clone()) } else { None };
        if is_new_turn {
            conversation.notes = std::mem::take(&mut conversation.carried);
        }
        Entered { is_new_session, is_new_turn, left }
    }

    /// The turn is over; answers whether that is news.
    pub(super) fn close(&mut self, turn: &TurnRef) -> bool {
        let Some(conversation) = self.known.get_mut(&turn.session) else { return false };
        let is_news = conversation.open.as_ref() == Some(turn);
        if is_news {
            conversation.open = None;
            conversation.notes.clear();
        }
        is_news
    }

    /// Keeps texts for every request of the turn; of a turn that is over, for the next one.
    pub(super) fn note(&mut self, turn: &TurnRef, texts: Vec<String>) {
        let conversation = self.open(&turn.session);
        let is_open = conversation.open.as_ref() == Some(turn);
        let notes = if is_open { &mut conversation.notes } else { &mut conversation.carried };
        let room = MAX_NOTES.saturating_sub(notes.len());
        notes.extend(texts.into_iter().take(room));
    }

    pub(super) fn notes(&self, turn: &TurnRef) -> Vec<String> {
        let conversation = self.known.get(&turn.session);
        let open = conversation.filter(|conversation| conversation.open.as_ref() == Some(turn));
        open.map(|conversation| conversation.notes.clone()).unwrap_or_default()
    }

    /// Keeps texts until the call has its result.
    pub(super) fn keep_for_call(&mut self, turn: &TurnRef, call: &CallId, texts: Vec<String>) {
        if texts.is_empty() {
            return;
        }
        let calls = &mut self.open(&turn.session).calls;
        if calls.len() >= MAX_CALLS {
            calls.pop_front();
        }
        calls.push_back((call.clone(), texts));
    }

    pub(super) fn take_for_call(&mut self, turn: &TurnRef, call: &CallId) -> Vec<String> {
        let Some(conversation) = self.known.get_mut(&turn.session) else { return Vec::new() };
        let at = conversation.calls.iter().position(|(known, _)| known == call);
        at.and_then(|at| conversation.calls.remove(at)).map(|(_, texts)| texts).unwrap_or_default()
    }

    fn open(&mut self, session: &SessionId) -> &mut Conversation {
        if !self.known.contains_key(session) {
            if self.order.len() >= MAX_SESSIONS
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
            self.order.push_back(session.clone());
        }
        self.known.entry(session.clone()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(session: &str, turn: &str) -> TurnRef {
        TurnRef { session: session.into(), turn: turn.into(), workdir: "/project".into() }
    }

    fn entered(is_new_session: bool, is_new_turn: bool, left: Option<TurnRef>) -> Entered {
        Entered { is_new_session, is_new_turn, left }
    }

    #[test]
    fn a_session_starts_once_and_a_turn_at_its_first_request() {
        let mut known = Conversations::default();
        assert_eq!(known.enter(&turn("s", "1")), entered(true, true, None));
        assert_eq!(known.enter(&turn("s", "1")), entered(false, false, None));
        assert!(known.close(&turn("s", "1")) && !known.close(&turn("s", "1")));
        assert_eq!(known.enter(&turn("s", "2")), entered(false, true, None));
        assert_eq!(known.enter(&turn("s", "3")), entered(false, true, Some(turn("s", "2"))));
        assert!(!known.close(&turn("s", "2")), "its end was told when the next turn began");
    }

    #[test]
    fn notes_stay_for_their_turn_and_late_ones_reach_the_next() {
        let mut known = Conversations::default();
        known.enter(&turn("s", "1"));
        known.note(&turn("s", "1"), vec!["one".to_owned()]);
        assert_eq!(known.notes(&turn("s", "1")), ["one"]);
        assert!(known.notes(&turn("other", "1")).is_empty());
        known.close(&turn("s", "1"));
        known.note(&turn("s", "1"), vec!["late".to_owned()]);
        known.enter(&turn("s", "2"));
        assert_eq!(known.notes(&turn("s", "2")), ["late"]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = Conversations::default();
        for number in 0..=MAX_SESSIONS {
            known.enter(&turn(&number.to_string(), "1"));
        }
        assert_eq!((known.known.len(), known.order.len()), (MAX_SESSIONS, MAX_SESSIONS));
        assert!(known.enter(&turn("0", "2")).is_new_session);
        for number in 0..=MAX_CALLS {
            known.keep_for_call(&turn("0", "2"), &CallId::new(number.to_string()), vec!["x".to_owned()]);
        }
        assert!(known.take_for_call(&turn("0", "2"), &"0".into()).is_empty());
        assert_eq!(known.take_for_call(&turn("0", "2"), &"1".into()), ["x"]);
        assert!(known.take_for_call(&turn("0", "2"), &"1".into()).is_empty());
        known.note(&turn("0", "2"), vec!["n".to_owned(); MAX_NOTES + 1]);
        assert_eq!(known.notes(&turn("0", "2")).len(), MAX_NOTES);
    }
}
