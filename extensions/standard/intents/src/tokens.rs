//! How many tokens a model makes of a text.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR};

/// The tokens of the `o200k` vocabulary in the order of their ranks, as `build.rs` packs them.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vocabulary"));

static O200K: LazyLock<CoreBPE> = LazyLock::new(unpacked_vocabulary);

#[allow(clippy::expect_used, reason = "what is unpacked is part of the program, and a test reads every token of it")]
fn unpacked_vocabulary() -> CoreBPE {
    let packed = miniz_oxide::inflate::decompress_to_vec(PACKED).expect("the build script packed it");
    let mut ranks = FxHashMap::default();
    let mut rest = packed.as_slice();
    for rank in 0.. {
        let Some((length, behind)) = rest.split_first() else { break };
        let (token, behind) = behind.split_at(usize::from(*length));
        ranks.insert(token.to_vec(), rank);
        rest = behind;
    }
    CoreBPE::new(ranks, FxHashMap::default(), O200K_BASE_PAT_STR).expect("the pattern is the vocabulary's own")
}

/// The count by the `o200k` vocabulary. The first call loads it, which takes a fifth of a second.
#[must_use]
pub(crate) fn count(text: &str) -> usize {
    O200K.count_ordinary(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn every_token_of_text_is_packed_with_its_rank() {
        let vocabulary = tiktoken_rs::o200k_base_singleton();
        for rank in 0..199_998 {
            let token = vocabulary.decode_bytes(&[rank]).unwrap();
            assert_eq!(super::O200K.decode_bytes(&[rank]).unwrap(), token, "rank {rank}");
        }
        assert!(super::O200K.decode_bytes(&[199_998]).is_err());
    }

    proptest! {
        #[test]
        fn texts_are_cut_as_the_vocabulary_s_own_crate_cuts_them(text in ".{0,200}") {
            prop_assert_eq!(super::count(&text), tiktoken_rs::o200k_base_singleton().count_ordinary(&text));
        }
    }
}
