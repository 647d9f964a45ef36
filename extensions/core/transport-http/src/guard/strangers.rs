//! Which connections have not shown the token yet, and which of them gives way to a newcomer.
//!
//! Pure.

use core::net::IpAddr;
use std::collections::BTreeMap;

/// Names one connection for as long as it is open; later connections have larger numbers.
pub(crate) type ConnectionId = u64;

/// The connections without a token, oldest first.
#[derive(Debug)]
pub(crate) struct StrangerTable {
    max_per_peer: usize,
    /// How long a connection may be silent before it gives way.
    grace_ms: u64,
    open: BTreeMap<ConnectionId, Stranger>,
}

#[derive(Clone, Copy, Debug)]
struct Stranger {
    peer: IpAddr,
    /// When it was opened or last sent a request.
    active_ms: u64,
}

impl StrangerTable {
    pub(crate) fn new(max_per_peer: usize, grace_ms: u64) -> Self {
        Self { max_per_peer, grace_ms, open: BTreeMap::new() }
    }

    /// Takes a new connection in, and names those of the same peer that have to go for it: the longest silent ones of
    /// more than a peer may have. Who has just come is given the time to say who it is.
    pub(crate) fn open(&mut self, id: ConnectionId, peer: IpAddr, now_ms: u64) -> Vec<ConnectionId> {
        let of_peer = self.open.values().filter(|known| known.peer == peer).count();
        let surplus = (of_peer + 1).saturating_sub(self.max_per_peer);
        let leaves: Vec<_> = (0..surplus).map_while(|_| self.remove_silent(Some(peer), now_ms)).collect();
        self.open.insert(id, Stranger { peer, active_ms: now_ms });
        leaves
    }

    /// Names the connection that has to go because the server is full.
    pub(crate) fn give_way(&mut self, now_ms: u64) -> Option<ConnectionId> {
        self.remove_silent(None, now_ms)
    }

    /// A request came without the token.
    pub(crate) fn touch(&mut self, id: ConnectionId, now_ms: u64) {
        if let Some(stranger) = self.open.get_mut(&id) {
            stranger.active_ms = now_ms;
        }
    }

    /// The connection showed the token or is closed.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        self.open.remove(&id);
    }

    /// Since when a connection is silent; `None` when it is not one without a token.
    pub(crate) fn active_ms(&self, id: ConnectionId) -> Option<u64> {
        self.open.get(&id).map(|stranger| stranger.active_ms)
    }

    fn remove_silent(&mut self, peer: Option<IpAddr>, now_ms: u64) -> Option<ConnectionId> {
        let fits = |stranger: &Stranger| peer.is_none_or(|peer| stranger.peer == peer);
        let fitting = self.open.iter().filter(|(_, stranger)| fits(stranger));
        let (id, oldest) = fitting.min_by_key(|(id, stranger)| (stranger.active_ms, **id))?;
        let id = (now_ms.saturating_sub(oldest.active_ms) >= self.grace_ms).then_some(*id)?;
        self.remove(id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn peer(last: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, last])
    }

    #[test]
    fn the_longest_silent_connections_of_a_peer_give_way() {
        let mut table = StrangerTable::new(2, 5);
        for (id, last, now_ms) in [(1, 1, 10), (2, 1, 20), (3, 2, 20)] {
            assert!(table.open(id, peer(last), now_ms).is_empty(), "another peer has its own");
        }
        table.touch(1, 30);
        assert_eq!(table.open(4, peer(1), 40), [2], "1 has sent something since");
        assert_eq!(table.active_ms(2), None);
        assert!(table.open(5, peer(1), 34).is_empty(), "nobody was silent for long enough");
        assert_eq!(table.open(6, peer(1), 100), [1, 5], "then all that are too many go");
    }

    #[test]
    fn a_full_server_drops_only_who_has_not_shown_the_token_for_a_while() {
        let mut table = StrangerTable::new(8, 5);
        for id in 1..=3 {
            table.open(id, peer(1), id);
        }
        table.remove(1);
        assert_eq!((table.give_way(6), table.give_way(7), table.give_way(7)), (None, Some(2), None));
        assert_eq!((table.give_way(8), table.give_way(100)), (Some(3), None));
    }

    proptest! {
        #[test]
        fn no_peer_holds_more_than_its_share_for_long(peers in proptest::collection::vec(0_u8..4, 1..200)) {
            let mut table = StrangerTable::new(5, 3);
            for (id, last) in (0..).zip(peers) {
                table.open(id, peer(last), id);
                let held = table.open.values().filter(|known| known.peer == peer(last));
                prop_assert!(held.filter(|known| id - known.active_ms >= 3).count() < 5, "but for those that just came");
                prop_assert!(table.active_ms(id).is_some(), "the newcomer stays");
            }
        }
    }
}
