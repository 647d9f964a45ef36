//! Memory that the allocator keeps for later, given back to the system.

/// How many pools the threads of a process share. Each keeps what its threads needed at their busiest.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const POOLS: libc::c_int = 4;
/// Blocks from this size on are given back at once, however many such blocks come and go.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BLOCK_BYTES: libc::c_int = 256 * 1024;

/// Has the allocator keep little for later, at the price of more waits of threads for each other: for a process that
/// lives long and is idle most of the time. To be called before the process has a second thread.
pub fn keep_little() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[allow(unsafe_code, reason = "the allocator has no safe interface")]
        // SAFETY: the function may be called at any time; it changes numbers that later allocations look at.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, POOLS);
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
        }
    }
}

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
