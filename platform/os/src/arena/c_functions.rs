//! The arena as a C library expects an allocator: the length of a block is kept in front of it.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::ptr;

use super::{ArenaAllocator, GRAIN_BYTES};

/// Room for the length, and for the alignment that C expects.
const HEADER_BYTES: usize = GRAIN_BYTES;

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(HEADER_BYTES)?, GRAIN_BYTES).ok()
}

/// `malloc`.
pub extern "C" fn allocate(size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else {
        return ptr::null_mut();
    };
    #[allow(unsafe_code, reason = "an allocator is unsafe by its nature")]
    // SAFETY: the layout is not empty, and the block has room for the header before what is given away.
    unsafe {
        let block = ArenaAllocator.alloc(layout);
        if block.is_null() { ptr::null_mut() } else { with_header(block, size) }
    }
}

/// `calloc`.
pub extern "C" fn allocate_zeroed(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        return ptr::null_mut();
    };
    let block = allocate(bytes);
    if !block.is_null() {
        #[allow(unsafe_code, reason = "fills raw memory")]
        // SAFETY: the block was just allocated with this many bytes.
        unsafe {
            block.write_bytes(0, bytes);
        }
    }
    block
}

/// `realloc`.
///
/// # Safety
/// The block is null or came from one of these functions and was not released.
#[allow(unsafe_code, reason = "an allocator is unsafe by its nature")]
pub unsafe extern "C" fn reallocate(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return allocate(size);
    }
    // SAFETY: by contract a header with the length stands before the block, and both were allocated as one.
    unsafe {
        let (start, old) = header_of(block);
        let (Some(old), Some(new)) = (layout(old), layout(size)) else {
            return ptr::null_mut();
        };
        let moved = ArenaAllocator.realloc(start, old, new.size());
        if moved.is_null() { ptr::null_mut() } else { with_header(moved, size) }
    }
}

/// `free`.
///
/// # Safety
/// As for [`reallocate`]; the block is not used any more.
#[allow(unsafe_code, reason = "an allocator is unsafe by its nature")]
pub unsafe extern "C" fn release(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: as in `reallocate`.
    unsafe {
        let (start, size) = header_of(block);
        if let Some(layout) = layout(size) {
            ArenaAllocator.dealloc(start, layout);
        }
    }
}

/// # Safety
/// The block has room for a header and `size` bytes and is aligned to the grain.
#[allow(unsafe_code, reason = "writes raw memory")]
unsafe fn with_header(block: *mut u8, size: usize) -> *mut c_void {
    // SAFETY: by contract.
    unsafe {
        block.cast::<usize>().write(size);
        block.add(HEADER_BYTES).cast()
    }
}

/// # Safety
/// The block was made by [`with_header`].
#[allow(unsafe_code, reason = "reads raw memory")]
unsafe fn header_of(block: *mut c_void) -> (*mut u8, usize) {
    // SAFETY: by contract.
    unsafe {
        let start = block.cast::<u8>().sub(HEADER_BYTES);
        (start, start.cast::<usize>().read())
    }
}
