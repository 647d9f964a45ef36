//! Who holds an entry of a queue: a late write of an earlier holder is refused by its fence.
//!
//! Pure.

/// The right of one owner to an entry, until somebody gets it under a higher fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseToken {
    /// The process that holds the entry.
    pub owner: String,
    /// Grows each time the entry is taken.
    pub fence: u64,
}

impl LeaseToken {
    /// Whether this is the token of the present holder, as it is stored.
    #[must_use]
    pub fn holds(&self, owner: Option<&str>, fence: u64) -> bool {
        self.fence == fence && owner == Some(self.owner.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_present_owner_under_the_present_fence_holds() {
        let token = LeaseToken { owner: "p".to_owned(), fence: 3 };
        for (owner, fence, holds) in
            [(Some("p"), 3, true), (Some("p"), 4, false), (Some("q"), 3, false), (None, 3, false)]
        {
            assert_eq!(token.holds(owner, fence), holds, "{owner:?} {fence}");
        }
    }
}
