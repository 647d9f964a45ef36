//! The allocator against a model of live blocks, in the owning thread and beside it.

use super::*;
use std::sync::Mutex;

/// Tests run in threads; one of them owns the arena at a time.
static TURN: Mutex<()> = Mutex::new(());

fn as_owner(work: impl FnOnce()) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    OWNER.set(true);
    work();
    OWNER.set(false);
}

struct Live {
    block: *mut u8,
    layout: Layout,
    mark: u8,
}

#[allow(unsafe_code, reason = "the tests stand for the compiler's calls")]
impl Live {
    fn new(size: usize, align: usize, mark: u8) -> Self {
        let layout = Layout::from_size_align(size, align).unwrap();
        // SAFETY: the size is not zero.
        let block = unsafe { ArenaAllocator.alloc(layout) };
        assert!(!block.is_null() && block.addr().is_multiple_of(align));
        let live = Self { block, layout, mark };
        live.fill();
        live
    }

    fn fill(&self) {
        // SAFETY: the block is live and this long.
        unsafe { self.block.write_bytes(self.mark, self.layout.size()) }
    }

    fn check(&self, bytes: usize) {
        // SAFETY: the block is live and at least this long.
        let content = unsafe { std::slice::from_raw_parts(self.block, bytes) };
        assert!(content.iter().all(|byte| *byte == self.mark), "a block of {} was overwritten", self.layout.size());
    }

    fn resize(&mut self, size: usize) {
        self.check(self.layout.size());
        let kept = self.layout.size().min(size);
        // SAFETY: the block is live with this layout, and the size is not zero.
        self.block = unsafe { ArenaAllocator.realloc(self.block, self.layout, size) };
        assert!(!self.block.is_null());
        self.layout = Layout::from_size_align(size, self.layout.align()).unwrap();
        self.check(kept);
        self.fill();
    }

    fn end(self) {
        self.check(self.layout.size());
        // SAFETY: the block is live with this layout and is forgotten here.
        unsafe { ArenaAllocator.dealloc(self.block, self.layout) }
    }
}

#[test]
fn every_size_has_a_class_that_holds_it_up_to_the_limit() {
    for size in 0..=ARENA_LIMIT_BYTES {
        let (class, length) = class_of(size).unwrap();
        assert!(length >= size && length.is_multiple_of(GRAIN_BYTES) && class < CLASSES, "{size}");
        assert_eq!(class_of(length), Some((class, length)), "{size}");
    }
    assert_eq!(class_of(ARENA_LIMIT_BYTES).map(|(class, _)| class), Some(CLASSES - 1));
    assert_eq!(class_of(ARENA_LIMIT_BYTES + 1), None);
    assert_eq!(class_of(usize::MAX), None);
}

proptest::proptest! {
    #[test]
    fn live_blocks_never_overlap(steps in proptest::collection::vec((0..4_u8, 1..40_000_usize, 0..9_u32), 1..300)) {
        as_owner(|| {
            let mut live: Vec<Live> = Vec::new();
            for (number, (action, size, align)) in steps.iter().copied().enumerate() {
                // Mostly small blocks, as programs ask for.
                let size = if number % 5 == 0 { size } else { size % 700 + 1 };
                match action {
                    0 | 1 => live.push(Live::new(size, 1 << align, number as u8)),
                    2 if !live.is_empty() => live.swap_remove(size % live.len()).end(),
                    3 if !live.is_empty() => {
                        let at = size % live.len();
                        live[at].resize(size);
                    }
                    _ => {}
                }
            }
            for block in live {
                block.end();
            }
        });
    }
}

#[test]
fn a_full_arena_leaves_the_rest_to_the_system() {
    as_owner(|| {
        let blocks: Vec<Live> = (0..200).map(|number| Live::new(ARENA_LIMIT_BYTES, 16, number)).collect();
        assert!(blocks.iter().any(|live| ARENA.contains(live.block)));
        assert!(blocks.iter().any(|live| !ARENA.contains(live.block)));
        blocks.into_iter().for_each(Live::end);
    });
}

#[test]
fn another_thread_is_served_by_the_system_and_may_free_what_the_owner_had() {
    as_owner(|| {
        let mine = Live::new(100, 8, 7);
        assert!(ARENA.contains(mine.block));
        let (address, layout) = (mine.block.expose_provenance(), mine.layout);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let theirs = Live::new(100, 8, 9);
                assert!(!ARENA.contains(theirs.block));
                theirs.end();
                Live { block: ptr::with_exposed_provenance_mut(address), layout, mark: 7 }.end();
            });
        });
    });
}

#[test]
#[allow(unsafe_code, reason = "the test stands for a C library")]
fn the_c_functions_keep_content_and_refuse_what_overflows() {
    as_owner(|| {
        let block = allocate_zeroed(10, 10).cast::<u8>();
        // SAFETY: a block of a hundred bytes, then of a hundred thousand, used within its length.
        unsafe {
            assert!((0..100).all(|at| *block.add(at) == 0));
            block.write_bytes(5, 100);
            let grown = reallocate(block.cast(), 100_000).cast::<u8>();
            assert!((0..100).all(|at| *grown.add(at) == 5));
            let shrunk = reallocate(grown.cast(), 10).cast::<u8>();
            assert!((0..10).all(|at| *shrunk.add(at) == 5));
            release(shrunk.cast());
            release(ptr::null_mut());
            release(reallocate(ptr::null_mut(), 1));
        }
        assert!(allocate(usize::MAX).is_null());
        assert!(allocate_zeroed(usize::MAX, 2).is_null());
    });
}
