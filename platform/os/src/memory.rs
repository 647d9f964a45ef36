//! Memory that the allocator keeps for later, given back to the system.

/// Gives back what is free in the allocator's pools. Costs milliseconds and page faults afterwards: for a process that
/// has nothing to do. Does nothing where the allocator gives memory back by itself.
pub fn give_back_unused() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[allow(unsafe_code, reason = "the allocator has no safe interface")]
        // SAFETY: the function may be called at any time from any thread.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    const BLOCK_BYTES: usize = 10_000;
    const BLOCKS: usize = 4_000;

    fn resident_pages() -> usize {
        let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
        sizes.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn what_lies_free_between_used_blocks_is_given_back() {
        let mut blocks: Vec<Option<Vec<u8>>> = (0..BLOCKS).map(|_| Some(vec![1; BLOCK_BYTES])).collect();
        let full = resident_pages();
        // The last block stays, so that the allocator cannot shrink its pool from the end.
        blocks.iter_mut().take(BLOCKS - 1).for_each(|block| drop(block.take()));
        give_back_unused();
        let pages_of_blocks = BLOCKS * BLOCK_BYTES / 4096;
        assert!(resident_pages() + pages_of_blocks / 2 < full, "{full} pages, then {}", resident_pages());
        assert_eq!(blocks.iter().flatten().count(), 1);
    }
}
