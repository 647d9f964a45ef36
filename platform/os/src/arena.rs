//! Memory for a process that lives for a millisecond: a fixed block of the program itself, handed out from one end.
//!
//! A general allocator asks the system for many small mappings, each of which costs more than judging a tool call.
//! Here no system call is made until the block is used up; then, and for large or foreign requests, the system's
//! allocator serves. Freed blocks are kept by size, so that few pages are ever touched.
//!
//! Only the thread that called [`own`] is served from the block, which therefore needs no lock.

mod c_functions;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

pub use c_functions::{allocate, allocate_zeroed, reallocate, release};

/// Less than two mebibytes, so that the system never thinks of one huge page for it.
const ARENA_BYTES: usize = 2 * 1024 * 1024 - 64 * 1024;
/// The arena begins at a multiple of this.
const PAGE_BYTES: usize = 4096;
/// What is fetched at the start: what an event without scripts uses.
const FIRST_BYTES: usize = 13 * PAGE_BYTES;
/// What is fetched each time that is not enough: half as much again as there is, at least and at most this. A page that
/// nobody needs costs as much as one that is needed.
const LEAST_NEXT_BYTES: usize = 4 * PAGE_BYTES;
const MOST_NEXT_BYTES: usize = 32 * PAGE_BYTES;
/// Every block is a multiple of this and begins at one.
const GRAIN_BYTES: usize = 16;
/// Up to here there is a class for every multiple of the grain.
const FINE_LIMIT_BYTES: usize = 512;
/// Up to here there are [`STEPS`] classes for every doubling; anything larger is the system's.
const ARENA_LIMIT_BYTES: usize = 16 * 1024;
const FINE_CLASSES: usize = FINE_LIMIT_BYTES / GRAIN_BYTES;
/// Many, because an engine asks for blocks of a little more than a page.
const STEPS: usize = 8;
const COARSE_CLASSES: usize = (ARENA_LIMIT_BYTES / FINE_LIMIT_BYTES).trailing_zeros() as usize * STEPS;
const CLASSES: usize = FINE_CLASSES + COARSE_CLASSES;

thread_local! {
    // Without a destructor and with a constant start, so that reading it neither allocates nor registers anything.
    static OWNER: Cell<bool> = const { Cell::new(false) };
}

/// From now on this thread, and no other, is served from the block. Call it once, in the main thread.
pub fn own() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !TAKEN.swap(true, Ordering::AcqRel) {
        OWNER.set(true);
        fetch_pages(0, FIRST_BYTES);
        ARENA.fetched.set(FIRST_BYTES);
    }
}

/// Asks for pages that will be used anyway in one call, which is quicker than a fault for each.
fn fetch_pages(start: usize, bytes: usize) {
    let bytes = bytes.min(ARENA_BYTES.saturating_sub(start));
    populate(ARENA.start().wrapping_add(start), bytes);
}

/// Asks for the pages of this memory in one call, which is quicker than a fault for each. Its content stays as it is; a
/// system that does not know this refuses, and faults serve as well.
#[cfg(target_os = "linux")]
pub fn populate(start: *mut u8, bytes: usize) {
    let first = start.addr().next_multiple_of(PAGE_BYTES);
    let last = (start.addr().saturating_add(bytes)) & !(PAGE_BYTES - 1);
    let whole = start.wrapping_add(first - start.addr());
    #[allow(unsafe_code, reason = "madvise has no safe wrapper")]
    // SAFETY: the advice changes no byte, and the system refuses it for memory that is not mapped.
    unsafe {
        libc::madvise(whole.cast(), last.saturating_sub(first), libc::MADV_POPULATE_WRITE);
    }
}

/// Faults serve as well.
#[cfg(not(target_os = "linux"))]
pub fn populate(_start: *mut u8, _bytes: usize) {}

/// The allocator to put into `#[global_allocator]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArenaAllocator;

/// A block that is free, with the next one of its class in its first bytes.
type Free = *mut u8;

struct Arena {
    /// How much of the block was ever handed out and not taken back from the end.
    used: Cell<usize>,
    /// How much of it was asked for so far.
    fetched: Cell<usize>,
    free: [Cell<Free>; CLASSES],
    bytes: UnsafeCell<Bytes>,
}

#[repr(C, align(4096))]
struct Bytes([MaybeUninit<u8>; ARENA_BYTES]);

#[allow(unsafe_code, reason = "a static with cells must say why it may be shared")]
// SAFETY: `used`, `fetched`, `free` and `bytes` are touched only by methods whose contract is that the caller is the owning
// thread, and OWNER is true in at most one thread because `own` hands it out once. `contains` looks at addresses only.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena {
    used: Cell::new(0),
    fetched: Cell::new(0),
    free: [const { Cell::new(ptr::null_mut()) }; CLASSES],
    bytes: UnsafeCell::new(Bytes([MaybeUninit::uninit(); ARENA_BYTES])),
};

/// The class of a size and the length of its blocks; nothing if the size is the system's.
#[inline]
fn class_of(size: usize) -> Option<(usize, usize)> {
    if size <= FINE_LIMIT_BYTES {
        let grains = size.div_ceil(GRAIN_BYTES).max(1);
        return Some((grains - 1, grains * GRAIN_BYTES));
    }
    if size > ARENA_LIMIT_BYTES {
        return None;
    }
    // The last power of two below the size, and how many steps above it the block ends.
    let doublings = (size - 1).ilog2() as usize - FINE_LIMIT_BYTES.ilog2() as usize;
    let base = FINE_LIMIT_BYTES << doublings;
    let steps = (size - base).div_ceil(base / STEPS);
    Some((FINE_CLASSES + doublings * STEPS + steps - 1, base + steps * (base / STEPS)))
}

impl Arena {
    #[inline]
    fn start(&self) -> *mut u8 {
        self.bytes.get().cast()
    }

    #[inline]
    fn contains(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.bytes.get().addr()) < ARENA_BYTES
    }

    /// A block of the class, or null when the arena is used up.
    ///
    /// # Safety
    /// The caller is the owning thread.
    #[inline]
    #[allow(unsafe_code, reason = "free blocks are linked through their own memory")]
    unsafe fn take(&self, class: usize, length: usize) -> *mut u8 {
        let Some(list) = self.free.get(class) else {
            return ptr::null_mut();
        };
        let first = list.get();
        if !first.is_null() {
            // SAFETY: a block on a list is at least one grain long, aligned to it, and its first bytes were
            // written by `give` when it was put there.
            list.set(unsafe { first.cast::<Free>().read() });
            return first;
        }
        let used = self.used.get();
        if length > ARENA_BYTES - used {
            return ptr::null_mut();
        }
        self.used.set(used + length);
        if used + length > self.fetched.get() {
            self.fetch_more();
        }
        // SAFETY: `used + length` is at most the length of the block.
        unsafe { self.start().add(used) }
    }

    #[cold]
    fn fetch_more(&self) {
        let start = self.fetched.get();
        let more = (start / 2).next_multiple_of(PAGE_BYTES).clamp(LEAST_NEXT_BYTES, MOST_NEXT_BYTES);
        self.fetched.set(start + more);
        fetch_pages(start, more);
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// The caller is the owning thread; `take` gave the block for this class and length, and it is not used any more.
    #[inline]
    #[allow(unsafe_code, reason = "free blocks are linked through their own memory")]
    unsafe fn give(&self, block: *mut u8, class: usize, length: usize) {
        if self.is_last(block, length) {
            self.used.set(self.used.get() - length);
        } else if let Some(list) = self.free.get(class) {
            // SAFETY: the block is ours again, at least one grain long and aligned to it.
            unsafe { block.cast::<Free>().write(list.get()) };
            list.set(block);
        }
    }

    /// Whether nothing was handed out behind this block.
    #[inline]
    fn is_last(&self, block: *mut u8, length: usize) -> bool {
        block.addr().wrapping_sub(self.start().addr()).wrapping_add(length) == self.used.get()
    }

    /// Makes the block longer or shorter in its place, if it is the last one or stays in its class.
    ///
    /// # Safety
    /// As for [`Arena::give`], for the old length.
    #[inline]
    #[allow(unsafe_code, reason = "the contract is about the owning thread")]
    unsafe fn resize_in_place(&self, block: *mut u8, old_length: usize, new_length: usize) -> bool {
        if old_length == new_length {
            return true;
        }
        let used = self.used.get();
        let fits = new_length <= ARENA_BYTES - (used - old_length.min(used));
        let resized = self.is_last(block, old_length) && fits;
        if resized {
            self.used.set(used - old_length + new_length);
        }
        resized
    }
}

#[inline]
fn is_arena_layout(layout: Layout) -> bool {
    layout.align() <= GRAIN_BYTES
}

#[allow(unsafe_code, reason = "an allocator is unsafe by its nature")]
// SAFETY: a block is either the system's, and then only the system's functions see it, or lies in the arena, which
// `contains` decides by address. In the arena two live blocks never overlap: `take` gives either fresh bytes behind
// all others or a block that was given back, and a block's length follows from its layout alone, so `give` sees the
// length that `take` gave. Blocks begin at a multiple of the grain, and larger alignments go to the system. Other
// threads than the owner never change the arena: what they free in it stays used until the process ends. A signal
// handler must not allocate, as everywhere. Nothing here panics or unwinds.
//
// Never inlined: a program allocates in thousands of places, and a copy in each would make it a sixth larger.
unsafe impl GlobalAlloc for ArenaAllocator {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if OWNER.get()
            && is_arena_layout(layout)
            && let Some((class, length)) = class_of(layout.size())
        {
            // SAFETY: OWNER is true, so this is the owning thread.
            let block = unsafe { ARENA.take(class, length) };
            if !block.is_null() {
                return block;
            }
        }
        // SAFETY: the caller's promise about the layout.
        unsafe { System.alloc(layout) }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !ARENA.contains(block) {
            // SAFETY: what does not lie in the arena came from the system with this layout.
            return unsafe { System.dealloc(block, layout) };
        }
        if OWNER.get()
            && let Some((class, length)) = class_of(layout.size())
        {
            // SAFETY: this is the owning thread, and the block was taken for the class of this size.
            unsafe { ARENA.give(block, class, length) };
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !ARENA.contains(block) {
            // SAFETY: as in `dealloc`.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        if OWNER.get()
            && let Some((_, old_length)) = class_of(layout.size())
            && let Some((_, new_length)) = class_of(new_size)
            // SAFETY: this is the owning thread, and the block was taken for the class of its size.
            && unsafe { ARENA.resize_in_place(block, old_length, new_length) }
        {
            return block;
        }
        // SAFETY: the caller promises that the new size is valid for this alignment; both blocks hold the bytes
        // that are copied and cannot overlap, because both are live.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests;
