//! Which system calls can change the tree of files, and where in them the paths stand.

use libc::{c_int, c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

const WRITING: c_int = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

/// Where the kernel's `seccomp_data` has what a filter looks at.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;
const ARGUMENT_BYTES: u32 = 8;

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// A system call that the listener is told of.
pub(super) struct WatchedCall {
    number: c_long,
    pub(super) effect: CallEffect,
    pub(super) path_arguments: &'static [PathArguments],
}

/// What the call effect at its path_arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEffect {
    /// Opens for writing, through a link at the end of the path.
    Open(OpenFlags),
    /// Makes, moves or removes what the path itself names.
    Change,
    /// Opens a way past the filter.
    Hide,
}

/// Where an opening call says what it wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenFlags {
    /// It always writes.
    None,
    /// In this argument.
    Argument(u8),
    /// In the memory that this argument points to.
    Memory(u8),
}

/// Arguments that name a path: the folder it starts in, unless that is the current one, and the path.
pub(super) struct PathArguments {
    pub(super) folder: Option<u8>,
    pub(super) path: u8,
}

const fn at(folder: u8, path: u8) -> PathArguments {
    PathArguments { folder: Some(folder), path }
}

#[cfg(target_arch = "x86_64")]
const fn here(path: u8) -> PathArguments {
    PathArguments { folder: None, path }
}

const fn call(number: c_long, effect: CallEffect, path_arguments: &'static [PathArguments]) -> WatchedCall {
    WatchedCall { number, effect, path_arguments }
}

/// The same on every architecture.
const CALLS: &[WatchedCall] = &[
    call(libc::SYS_openat, CallEffect::Open(OpenFlags::Argument(2)), &[at(0, 1)]),
    call(libc::SYS_openat2, CallEffect::Open(OpenFlags::Memory(2)), &[at(0, 1)]),
    call(libc::SYS_truncate, CallEffect::Open(OpenFlags::None), &[PathArguments { folder: None, path: 0 }]),
    call(libc::SYS_renameat, CallEffect::Change, &[at(0, 1), at(2, 3)]),
    call(libc::SYS_renameat2, CallEffect::Change, &[at(0, 1), at(2, 3)]),
    call(libc::SYS_unlinkat, CallEffect::Change, &[at(0, 1)]),
    call(libc::SYS_linkat, CallEffect::Change, &[at(2, 3)]),
    call(libc::SYS_symlinkat, CallEffect::Change, &[at(1, 2)]),
    call(libc::SYS_mkdirat, CallEffect::Change, &[at(0, 1)]),
    call(libc::SYS_mknodat, CallEffect::Change, &[at(0, 1)]),
    call(libc::SYS_io_uring_setup, CallEffect::Hide, &[]),
];

/// Calls from before there were folders to start in.
#[cfg(target_arch = "x86_64")]
const OLDER_CALLS: &[WatchedCall] = &[
    call(libc::SYS_open, CallEffect::Open(OpenFlags::Argument(1)), &[here(0)]),
    call(libc::SYS_creat, CallEffect::Open(OpenFlags::None), &[here(0)]),
    call(libc::SYS_rename, CallEffect::Change, &[here(0), here(1)]),
    call(libc::SYS_unlink, CallEffect::Change, &[here(0)]),
    call(libc::SYS_rmdir, CallEffect::Change, &[here(0)]),
    call(libc::SYS_link, CallEffect::Change, &[here(1)]),
    call(libc::SYS_symlink, CallEffect::Change, &[here(1)]),
    call(libc::SYS_mkdir, CallEffect::Change, &[here(0)]),
    call(libc::SYS_mknod, CallEffect::Change, &[here(0)]),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CALLS: &[WatchedCall] = &[];

pub(super) fn find(number: c_int) -> Option<&'static WatchedCall> {
    all().find(|call| call.number == c_long::from(number))
}

/// Whether a file opened with these flags can be changed by it. One without a name has no path to be seen at;
/// it is seen when it gets one.
pub(super) fn writes(flags: u64) -> bool {
    let has = |wanted: c_int| flags & u64::from(wanted.cast_unsigned()) != 0;
    let is_nameless = has(libc::O_TMPFILE & !libc::O_DIRECTORY);
    has(WRITING) && !is_nameless && !has(libc::O_PATH)
}

/// A filter that tells the listener of these calls and allows all others, also those of another architecture.
pub(super) fn program() -> Vec<sock_filter> {
    let mut program = vec![
        statement(LOAD, ARCHITECTURE_OFFSET),
        jump(JUMP_IF_EQUAL, ARCHITECTURE, 1, 0),
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
        statement(LOAD, NUMBER_OFFSET),
    ];
    for call in all() {
        let number = u32::try_from(call.number).unwrap_or(u32::MAX);
        match call.effect {
            CallEffect::Open(OpenFlags::Argument(argument)) => program.extend([
                jump(JUMP_IF_EQUAL, number, 0, 4),
                statement(LOAD, ARGUMENTS_OFFSET + u32::from(argument) * ARGUMENT_BYTES),
                jump(JUMP_IF_ANY_BIT, WRITING.cast_unsigned(), 0, 1),
                statement(RETURN, libc::SECCOMP_RET_USER_NOTIF),
                statement(RETURN, libc::SECCOMP_RET_ALLOW),
            ]),
            CallEffect::Open(OpenFlags::None | OpenFlags::Memory(_)) | CallEffect::Change | CallEffect::Hide => {
                program.extend([jump(JUMP_IF_EQUAL, number, 0, 1), statement(RETURN, libc::SECCOMP_RET_USER_NOTIF)])
            }
        }
    }
    program.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
    program
}

fn all() -> impl Iterator<Item = &'static WatchedCall> {
    CALLS.iter().chain(OLDER_CALLS)
}

fn statement(code: u16, operand: u32) -> sock_filter {
    jump(code, operand, 0, 0)
}

fn jump(code: u16, operand: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code, jt: if_true, jf: if_false, k: operand }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel effect.
    fn verdict(architecture: u32, number: c_long, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(u32::try_from(number).unwrap().to_le_bytes());
        data.extend(architecture.to_le_bytes());
        data.extend([0; 8]);
        arguments.iter().for_each(|argument| data.extend(argument.to_le_bytes()));
        let (program, mut at, mut loaded) = (program(), 0, 0);
        loop {
            let step = &program[at];
            let skip = |is_true: bool| usize::from(if is_true { step.jt } else { step.jf });
            at += 1;
            match step.code {
                LOAD => loaded = u32::from_le_bytes(data[step.k as usize..][..4].try_into().unwrap()),
                JUMP_IF_EQUAL => at += skip(loaded == step.k),
                JUMP_IF_ANY_BIT => at += skip(loaded & step.k != 0),
                RETURN => return step.k,
                other => panic!("no such step: {other}"),
            }
        }
    }

    fn is_told(number: c_long, arguments: [u64; 6]) -> bool {
        match verdict(ARCHITECTURE, number, arguments) {
            libc::SECCOMP_RET_USER_NOTIF => true,
            libc::SECCOMP_RET_ALLOW => false,
            other => panic!("{other:x}"),
        }
    }

    #[test]
    fn opening_is_told_only_if_it_is_for_writing() {
        let flags = |flags: c_int| u64::from(flags.cast_unsigned());
        for (wanted, expected) in [
            (libc::O_RDONLY, false),
            (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_DIRECTORY, false),
            (libc::O_WRONLY, true),
            (libc::O_RDWR, true),
            (libc::O_RDONLY | libc::O_CREAT, true),
            (libc::O_RDONLY | libc::O_TRUNC, true),
            (libc::O_WRONLY | libc::O_APPEND, true),
        ] {
            assert_eq!(is_told(libc::SYS_openat, [0, 0, flags(wanted), 0, 0, 0]), expected, "{wanted:o}");
            #[cfg(target_arch = "x86_64")]
            assert_eq!(is_told(libc::SYS_open, [0, flags(wanted), 0, 0, 0, 0]), expected, "{wanted:o}");
            assert_eq!(writes(flags(wanted)), expected, "{wanted:o}");
        }
        assert!(!writes(flags(libc::O_TMPFILE | libc::O_RDWR)));
        assert!(!writes(flags(libc::O_PATH | libc::O_CREAT)));
        // The upper half of a register is not part of the flags.
        assert!(!is_told(libc::SYS_openat, [0, 0, 0xffff_ffff_0000_0000, 0, 0, 0]));
    }

    #[test]
    fn every_call_of_the_table_is_told_and_no_other() {
        for call in all() {
            let is_found = find(c_int::try_from(call.number).unwrap()).is_some_and(|found| found.effect == call.effect);
            assert!(is_found && is_told(call.number, [u64::MAX; 6]), "{}", call.number);
        }
        for number in [libc::SYS_read, libc::SYS_write, libc::SYS_execve, libc::SYS_sendmsg, libc::SYS_close] {
            assert!(!is_told(number, [u64::MAX; 6]), "{number}");
            assert!(find(c_int::try_from(number).unwrap()).is_none());
        }
    }

    #[test]
    fn calls_of_another_architecture_are_let_through() {
        assert_eq!(verdict(0x4000_0003, libc::SYS_openat, [u64::MAX; 6]), libc::SECCOMP_RET_ALLOW);
    }
}
