//! The memory of one engine, which can be put back to how it was at an earlier moment.
//!
//! Making the globals of a realm takes longer than most scripts take to run. Everything that an engine knows lies in the
//! memory that it was given, so once that holds what it held before a script came, no trace of the script is left, and
//! the next one finds fresh globals for the price of a copy of a hundred kilobytes.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use rquickjs::allocator::Allocator;

/// Every block is a multiple of this, and what the engine sees of it begins at one.
const GRAIN_BYTES: usize = 16;
/// In front of each block stands how much of it can be used.
const HEADER_BYTES: usize = size_of::<usize>();
/// Up to here there is a class for every multiple of the grain.
const FINE_LIMIT_BYTES: usize = 512;
/// Up to here there are [`STEPS`] classes for every doubling; a larger block is the system's.
const CLASS_LIMIT_BYTES: usize = 32 * 1024;
const STEPS: usize = 8;
const FINE_CLASSES: usize = FINE_LIMIT_BYTES / GRAIN_BYTES;
const CLASSES: usize = FINE_CLASSES + (CLASS_LIMIT_BYTES / FINE_LIMIT_BYTES).trailing_zeros() as usize * STEPS;
/// What is asked of the system at first, and at most at once: each chunk is twice as long as the one before.
const FIRST_CHUNK_BYTES: usize = 256 * 1024;
const LARGEST_CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The memory of one engine, shared with the engine that allocates from it.
#[derive(Clone, Default)]
pub(super) struct EngineHeap(Rc<RefCell<HeapMemory>>);

#[derive(Default)]
struct HeapMemory {
    chunks: Vec<HeapChunk>,
    /// How much of the last chunk was handed out.
    used: usize,
    free: FreeBlocks,
    /// Blocks of their own.
    large: Vec<HeapChunk>,
    kept: Option<KeptHeap>,
}

/// Free blocks by class, each with the next one in its first bytes.
#[derive(Clone, Copy)]
struct FreeBlocks([*mut u8; CLASSES]);

impl Default for FreeBlocks {
    fn default() -> Self {
        Self([ptr::null_mut(); CLASSES])
    }
}

/// Memory of the system, given back when this goes.
struct HeapChunk {
    start: NonNull<u8>,
    layout: Layout,
}

/// Bytes as they are: some of them nobody has written yet.
type KeptBytes = Vec<MaybeUninit<u8>>;

/// What the memory held at the moment that is gone back to.
struct KeptHeap {
    chunks: Vec<KeptBytes>,
    large: Vec<KeptBytes>,
    free: FreeBlocks,
}

impl HeapChunk {
    fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, GRAIN_BYTES).ok().filter(|layout| layout.size() > 0)?;
        #[allow(unsafe_code, reason = "memory for another allocator")]
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { start, layout })
    }

    #[allow(unsafe_code, reason = "the engine writes into this memory by address")]
    fn read(&self, bytes: usize) -> KeptBytes {
        let bytes = bytes.min(self.layout.size());
        let mut copy = KeptBytes::with_capacity(bytes);
        // SAFETY: the chunk is at least that long, and so is the vector.
        unsafe {
            ptr::copy_nonoverlapping(self.start.as_ptr().cast(), copy.as_mut_ptr(), bytes);
            copy.set_len(bytes);
        }
        copy
    }

    #[allow(unsafe_code, reason = "the engine writes into this memory by address")]
    fn write(&self, bytes: &KeptBytes) {
        let length = bytes.len().min(self.layout.size());
        // SAFETY: the chunk is at least that long and is no part of the copy.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().cast(), length) };
    }
}

impl Drop for HeapChunk {
    fn drop(&mut self) {
        #[allow(unsafe_code, reason = "memory for another allocator")]
        // SAFETY: it was allocated with this layout, and the chunk is the only one that gives it back.
        unsafe {
            dealloc(self.start.as_ptr(), self.layout);
        }
    }
}

/// The class of a block with its header, and how long its blocks are; nothing if it is the system's.
fn class_of(bytes: usize) -> Option<(usize, usize)> {
    if bytes <= FINE_LIMIT_BYTES {
        let grains = bytes.div_ceil(GRAIN_BYTES).max(1);
        return Some((grains - 1, grains * GRAIN_BYTES));
    }
    if bytes > CLASS_LIMIT_BYTES {
        return None;
    }
    let doublings = (bytes - 1).ilog2() as usize - FINE_LIMIT_BYTES.ilog2() as usize;
    let base = FINE_LIMIT_BYTES << doublings;
    let steps = (bytes - base).div_ceil(base / STEPS);
    Some((FINE_CLASSES + doublings * STEPS + steps - 1, base + steps * (base / STEPS)))
}

impl EngineHeap {
    /// Keeps what the memory holds now, in place of what was kept before.
    pub(super) fn keep(&self) {
        let memory = &mut *self.0.borrow_mut();
        let last = memory.chunks.len().saturating_sub(1);
        let used = |at: usize, chunk: &HeapChunk| if at == last { memory.used } else { chunk.layout.size() };
        memory.kept = Some(KeptHeap {
            chunks: memory.chunks.iter().enumerate().map(|(at, chunk)| chunk.read(used(at, chunk))).collect(),
            large: memory.large.iter().map(|block| block.read(block.layout.size())).collect(),
            free: memory.free,
        });
    }

    /// Lets go of what was kept: the memory stays as it is.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().kept = None;
    }

    /// Puts the memory back to what was kept, if anything was. Nothing that was made since may be used afterwards, nor
    /// freed by its owner.
    pub(super) fn go_back(&self) {
        let memory = &mut *self.0.borrow_mut();
        let Some(kept) = &memory.kept else { return };
        memory.chunks.truncate(kept.chunks.len());
        memory.large.truncate(kept.large.len());
        for (chunk, bytes) in memory.chunks.iter().zip(&kept.chunks).chain(memory.large.iter().zip(&kept.large)) {
            chunk.write(bytes);
        }
        memory.used = kept.chunks.last().map_or(0, Vec::len);
        memory.free = kept.free;
    }
}

impl HeapMemory {
    /// A block of which `size` bytes can be used, or null.
    fn take(&mut self, size: usize) -> *mut u8 {
        let Some(bytes) = size.checked_add(HEADER_BYTES) else { return ptr::null_mut() };
        match class_of(bytes) {
            Some((class, length)) => self.take_class(class, length),
            None => self.take_large(bytes),
        }
    }

    #[allow(unsafe_code, reason = "free blocks are linked through their own memory")]
    fn take_class(&mut self, class: usize, length: usize) -> *mut u8 {
        let Some(first) = self.free.0.get_mut(class) else { return ptr::null_mut() };
        if !first.is_null() {
            let block = *first;
            // SAFETY: a block on a list is at least a grain long less its header, and `give` wrote its first bytes.
            *first = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        let room = self.chunks.last().map_or(0, |chunk| chunk.layout.size().saturating_sub(self.used));
        if length > room && !self.add_chunk() {
            return ptr::null_mut();
        }
        let Some(chunk) = self.chunks.last() else { return ptr::null_mut() };
        // SAFETY: there is room for the block behind what was handed out, and the header lies in it.
        let block = unsafe { with_header(chunk.start.as_ptr().add(self.used), length - HEADER_BYTES) };
        self.used += length;
        block
    }

    fn add_chunk(&mut self) -> bool {
        let last = self.chunks.last().map_or(FIRST_CHUNK_BYTES / 2, |chunk| chunk.layout.size());
        let Some(chunk) = HeapChunk::new((last * 2).min(LARGEST_CHUNK_BYTES)) else { return false };
        if self.chunks.is_empty() {
            dispatch_os::arena::populate(chunk.start.as_ptr(), chunk.layout.size());
        }
        self.chunks.push(chunk);
        // What the engine sees of a block begins at a multiple of the grain, behind the header.
        self.used = GRAIN_BYTES - HEADER_BYTES;
        true
    }

    #[allow(unsafe_code, reason = "headers stand in front of blocks")]
    fn take_large(&mut self, bytes: usize) -> *mut u8 {
        let Some(block) = bytes.checked_add(GRAIN_BYTES).and_then(HeapChunk::new) else { return ptr::null_mut() };
        // SAFETY: the block has room for a gap, the header and what is asked for.
        let start = unsafe { with_header(block.start.as_ptr().add(GRAIN_BYTES - HEADER_BYTES), bytes - HEADER_BYTES) };
        self.large.push(block);
        start
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from this memory, and nobody uses it any more.
    #[allow(unsafe_code, reason = "free blocks are linked through their own memory")]
    unsafe fn give(&mut self, block: *mut u8) {
        // SAFETY: by the contract there is a header in front of it.
        let bytes = unsafe { usable(block) } + HEADER_BYTES;
        match class_of(bytes).and_then(|(class, _)| self.free.0.get_mut(class)) {
            Some(first) => {
                // SAFETY: every block has room for an address behind its header.
                unsafe { block.cast::<*mut u8>().write(*first) };
                *first = block;
            }
            None => self.give_large(block),
        }
    }

    fn give_large(&mut self, block: *mut u8) {
        let start = block.wrapping_sub(GRAIN_BYTES);
        let kept = self.kept.as_ref().map_or(0, |kept| kept.large.len());
        // One that was there when the memory was kept is needed again.
        if let Some(at) = self.large.iter().rposition(|large| large.start.as_ptr() == start).filter(|at| *at >= kept) {
            self.large.remove(at);
        }
    }
}

/// Writes a header, and returns what stands behind it.
///
/// # Safety
/// There is room for the header, at an address that is a multiple of its size.
#[allow(unsafe_code, reason = "headers stand in front of blocks")]
unsafe fn with_header(at: *mut u8, usable: usize) -> *mut u8 {
    // SAFETY: by the contract.
    unsafe {
        at.cast::<usize>().write(usable);
        at.add(HEADER_BYTES)
    }
}

/// How much of a block can be used.
///
/// # Safety
/// It came from [`HeapMemory::take`].
#[allow(unsafe_code, reason = "headers stand in front of blocks")]
unsafe fn usable(block: *mut u8) -> usize {
    // SAFETY: by the contract there is a header in front of it.
    unsafe { block.sub(HEADER_BYTES).cast::<usize>().read() }
}

#[allow(unsafe_code, reason = "an allocator says that its blocks are what they are said to be")]
// SAFETY: `take` returns null or a block of at least that size that nobody else has, at a multiple of sixteen; `realloc`
// copies as much as both blocks hold; `usable` reads what `take` wrote.
unsafe impl Allocator for EngineHeap {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.0.borrow_mut().take(size)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(bytes) = count.checked_mul(size).filter(|bytes| *bytes > 0) else { return ptr::null_mut() };
        let block = self.0.borrow_mut().take(bytes);
        if !block.is_null() {
            // SAFETY: the block is at least that long.
            unsafe { ptr::write_bytes(block, 0, bytes) };
        }
        block
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: by the contract of the trait.
        unsafe { self.0.borrow_mut().give(block) };
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() {
            return self.alloc(size);
        }
        // SAFETY: by the contract of the trait the block came from here.
        let before = unsafe { usable(block) };
        if size <= before && size >= before / 2 {
            return block;
        }
        let memory = &mut *self.0.borrow_mut();
        let other = memory.take(size);
        if !other.is_null() {
            // SAFETY: both are at least that long, and differ because the first is still taken.
            unsafe {
                ptr::copy_nonoverlapping(block, other, before.min(size));
                memory.give(block);
            }
        }
        other
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: by the contract of the trait.
        unsafe { usable(block) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_it_is_for_and_its_blocks_find_it_again() {
        let mut last = None;
        for bytes in 1..=CLASS_LIMIT_BYTES {
            let (class, length) = class_of(bytes).unwrap();
            assert!(length >= bytes && length - bytes < (bytes / STEPS).max(GRAIN_BYTES) + GRAIN_BYTES, "{bytes}");
            assert!(length.is_multiple_of(GRAIN_BYTES) && class < CLASSES);
            assert_eq!(class_of(length), Some((class, length)));
            assert!(last.is_none_or(|last| class == last || class == last + 1), "{bytes}");
            last = Some(class);
        }
        assert_eq!(class_of(CLASS_LIMIT_BYTES + 1), None);
    }

    /// Fills a block with a pattern of its own.
    #[allow(unsafe_code, reason = "the test plays the engine")]
    fn fill(block: *mut u8, size: usize, with: u8) {
        assert!(!block.is_null() && block.addr().is_multiple_of(GRAIN_BYTES));
        // SAFETY: the test asked for that many bytes.
        unsafe { ptr::write_bytes(block, with, size) };
    }

    #[allow(unsafe_code, reason = "the test plays the engine")]
    fn holds(block: *mut u8, size: usize, what: u8) -> bool {
        // SAFETY: the test asked for that many bytes and wrote them.
        unsafe { std::slice::from_raw_parts(block, size) }.iter().all(|byte| *byte == what)
    }

    #[test]
    #[allow(unsafe_code, reason = "the test plays the engine")]
    fn what_was_kept_comes_back_and_what_came_later_is_gone() {
        let sizes = [1, 15, 24, 200, 513, 4_000, 30_000, 40_000, 1_000_000];
        let mut heap = EngineHeap::default();
        let before: Vec<*mut u8> = sizes.iter().map(|size| heap.alloc(*size)).collect();
        for (at, (block, size)) in before.iter().zip(sizes).enumerate() {
            fill(*block, size, at as u8 + 1);
        }
        heap.keep();
        for round in 0..3 {
            for (block, size) in before.iter().zip(sizes) {
                fill(*block, size, 0xee);
            }
            // SAFETY: each block is freed once until the memory is put back.
            unsafe { before.iter().for_each(|block| heap.dealloc(*block)) };
            let later: Vec<*mut u8> = sizes.iter().rev().map(|size| heap.alloc(*size)).collect();
            for (block, size) in later.iter().zip(sizes.iter().rev()) {
                fill(*block, *size, 0xdd);
            }
            heap.go_back();
            for (at, (block, size)) in before.iter().zip(sizes).enumerate() {
                assert!(holds(*block, size, at as u8 + 1), "round {round}, {size} bytes");
            }
        }
    }

    #[test]
    #[allow(unsafe_code, reason = "the test plays the engine")]
    fn a_block_keeps_its_content_as_it_grows_and_shrinks() {
        let mut heap = EngineHeap::default();
        let mut block = heap.alloc(10);
        let mut size = 10;
        for next in [11, 100, 5_000, 80_000, 90_000, 400, 3, 0, 64] {
            fill(block, size, 7);
            // SAFETY: the block is the last one that was returned.
            block = unsafe { heap.realloc(block, next) };
            assert!(holds(block, size.min(next), 7), "{size} to {next}");
            // SAFETY: as above.
            assert!(unsafe { EngineHeap::usable_size(block) } >= next);
            size = next;
        }
    }
}
