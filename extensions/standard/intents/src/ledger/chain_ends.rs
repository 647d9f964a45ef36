//! Finds the ends of the sessions' chains again after something other than our writer changed the ledger: a merge, a
//! checkout, a reset, a killed writer, or somebody who edits it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::time::Duration;

use dispatch_os::Deadline;
use dispatch_os::files::File;
use memchr::memmem;

use super::{Ledger, LedgerLineReader, MAX_SEARCH_BYTES, index, tail};
use crate::chain::{ChainEnd, LedgerHead};
use crate::content_store;
use crate::layout::OrchestrationLayout;
use crate::trace_entry::TraceEntry;
use crate::working_tree;

const SESSION_FIELD: &str = "\"session_id\":\"";
const ID_FIELD: &str = "\"id\":\"";
const GIT_TIME: Duration = Duration::from_secs(2);

/// Makes the chains of a head fit the ledger, and finds the ends of more sessions. The last line of a session in the
/// ledger is its end. An end that is gone is remembered as missing, unless git put this version of the ledger here.
pub(super) fn refresh(
    layout: &OrchestrationLayout,
    head: &mut LedgerHead,
    sessions: &BTreeSet<&str>,
) -> io::Result<()> {
    let Some(chains) = head.chains.take() else {
        return Ok(());
    };
    let ids: HashSet<&str> = chains.values().map(|end| end.id.as_str()).collect();
    let wanted = |session: &str| sessions.contains(session) || chains.contains_key(session);
    let mut last: BTreeMap<String, (u64, Vec<u8>)> = BTreeMap::new();
    let mut present: HashSet<String> = HashSet::new();
    for line in LedgerLineReader::open(&layout.ledger_file())? {
        let line = line?;
        if field(&line.bytes, ID_FIELD).is_some_and(|id| ids.contains(id)) {
            present.insert(line.link());
        }
        if let Some(session) = field(&line.bytes, SESSION_FIELD).filter(|session| wanted(session)) {
            last.insert(session.to_owned(), (line.number, line.bytes));
        }
    }
    if chains.values().any(|end| !present.contains(&end.link)) {
        for line in Ledger::open(layout).archived_lines()? {
            let line = line?;
            if field(&line.bytes, ID_FIELD).is_some_and(|id| ids.contains(id)) {
                present.insert(line.link());
            }
        }
    }
    let archived: Vec<(String, ChainEnd)> = chains
        .iter()
        .filter(|(session, end)| !last.contains_key(*session) && present.contains(&end.link))
        .map(|(session, end)| (session.clone(), end.clone()))
        .collect();
    let gone: Vec<ChainEnd> = chains.into_values().filter(|end| !present.contains(&end.link)).collect();
    head.chains = Some(BTreeMap::new());
    archived.into_iter().for_each(|(session, end)| head.set_end(&session, end));
    for (session, (number, bytes)) in last {
        if let Ok(entry) = serde_json::from_slice::<TraceEntry>(&bytes) {
            let end = ChainEnd::of(&entry, crate::chain::link(&bytes), number);
            head.set_end(&session, end);
        }
    }
    report(layout, head, gone);
    Ok(())
}

/// Finds the ends of sessions that the head does not know, in the last part of a ledger that the head covers.
pub(super) fn add_sessions(
    file: &mut File,
    length: u64,
    head: &mut LedgerHead,
    sessions: &BTreeSet<&str>,
) -> io::Result<()> {
    let Some(chains) = &head.chains else {
        return Ok(());
    };
    let unknown: Vec<&str> = sessions.iter().copied().filter(|session| !chains.contains_key(*session)).collect();
    for session in unknown {
        let mine = |entry: &TraceEntry| entry.session_id == session;
        let found = index::search(file, length, MAX_SEARCH_BYTES, "session_id", session, 1, &mine)?;
        for (offset, entry) in found {
            let line = tail::line_at(file, offset)?.unwrap_or_default();
            head.set_end(session, ChainEnd::of(&entry, crate::chain::link(&line), head.entries));
        }
    }
    Ok(())
}

/// The same for a ledger that is empty or absent.
pub(super) fn clear(layout: &OrchestrationLayout, head: &mut LedgerHead) {
    let old = head.chains.is_none().then(|| std::mem::take(&mut head.last));
    let gone: Vec<ChainEnd> = head.chains.replace(BTreeMap::new()).into_iter().flatten().map(|(_, end)| end).collect();
    report(layout, head, gone);
    old.into_iter().for_each(|link| head.add_missing(link));
}

fn report(layout: &OrchestrationLayout, head: &mut LedgerHead, gone: Vec<ChainEnd>) {
    if gone.is_empty() {
        return;
    }
    let by_git = working_tree::is_committed_ledger(layout, Deadline::after(GIT_TIME));
    let left = gone.into_iter().filter(|end| !by_git || is_change_there(layout, end));
    left.for_each(|end| head.add_missing(end.link));
}

/// Whether the change of a chain's last line is still on disk.
#[must_use]
pub(crate) fn is_change_there(layout: &OrchestrationLayout, end: &ChainEnd) -> bool {
    let Some(path) = &end.path else {
        return false;
    };
    content_store::observe(&layout.root.join(path)).bytes.is_some_and(|content| end.is_in(&content))
}

/// The value of a field of text as our writer formats it, if it needs no unescaping.
fn field<'l>(line: &'l [u8], name: &str) -> Option<&'l str> {
    let at = memmem::find(line, name.as_bytes())? + name.len();
    let rest = line.get(at..)?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    (rest.get(end) == Some(&b'"')).then(|| std::str::from_utf8(rest.get(..end)?).ok()).flatten()
}
