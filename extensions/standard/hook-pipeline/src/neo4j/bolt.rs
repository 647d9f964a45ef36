//! The Bolt handshake: the versions that are offered, and what the server's answer means.
//!
//! Pure.

use super::error::Neo4jError;

const MAGIC: [u8; 4] = [0x60, 0x60, 0xB0, 0x17];
/// Offered versions as (major, minor, how many minors below it too), best first.
const OFFERED: [(u8, u8, u8); 4] = [(5, 8, 8), (4, 4, 2), (4, 1, 0), (4, 0, 0)];
/// The first bytes of an HTTP server's answer.
const HTTP: [u8; 4] = *b"HTTP";

/// A version of Bolt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoltVersion {
    pub(super) major: u8,
    pub(super) minor: u8,
}

/// The bytes that open a connection.
pub(super) fn handshake() -> [u8; 20] {
    let mut bytes = [0; 20];
    let offers = OFFERED.iter().flat_map(|(major, minor, range)| [0, *range, *minor, *major]);
    for (slot, byte) in bytes.iter_mut().zip(MAGIC.into_iter().chain(offers)) {
        *slot = byte;
    }
    bytes
}

/// The version that the server chose.
pub(super) fn chosen_version(answer: [u8; 4]) -> Result<BoltVersion, Neo4jError> {
    match answer {
        [0, 0, 0, 0] => Err(Neo4jError::NoCommonVersion),
        HTTP => Err(Neo4jError::Http),
        [0, 0, minor, major] if was_offered(major, minor) => Ok(BoltVersion { major, minor }),
        _ => Err(Neo4jError::NotBolt),
    }
}

fn was_offered(major: u8, minor: u8) -> bool {
    OFFERED
        .iter()
        .any(|(offered, top, range)| *offered == major && (top.saturating_sub(*range)..=*top).contains(&minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handshake_offers_every_version_from_five_down_to_four() {
        let bytes = [0x60, 0x60, 0xB0, 0x17, 0, 8, 8, 5, 0, 2, 4, 4, 0, 0, 1, 4, 0, 0, 0, 4];
        assert_eq!(handshake(), bytes);
    }

    #[test]
    fn only_what_was_offered_can_be_chosen() {
        for (minor, major) in [(8, 5), (4, 5), (0, 5), (4, 4), (2, 4), (1, 4), (0, 4)] {
            assert_eq!(chosen_version([0, 0, minor, major]).unwrap(), BoltVersion { major, minor });
        }
        for answer in [[0, 0, 9, 5], [0, 0, 5, 4], [0, 0, 0, 3], [0, 0, 0, 6], [0, 1, 4, 5], [0xFF; 4], *b"SSH-"] {
            assert!(matches!(chosen_version(answer), Err(Neo4jError::NotBolt)), "{answer:?}");
        }
        assert!(matches!(chosen_version([0; 4]), Err(Neo4jError::NoCommonVersion)));
        assert!(matches!(chosen_version(*b"HTTP"), Err(Neo4jError::Http)));
    }
}
