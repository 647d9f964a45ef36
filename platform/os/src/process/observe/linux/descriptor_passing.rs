//! Passes a descriptor from one process to another through a socket.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Enough for the header and one descriptor, and aligned for both.
type Control = [u64; 4];

/// Allocates nothing and takes no lock.
pub(super) fn send(outlet: &UnixStream, descriptor: RawFd) -> io::Result<()> {
    let (mut byte, mut control) = ([b'!'], Control::default());
    with_message(&mut byte, &mut control, |message| {
        #[allow(unsafe_code, reason = "descriptors cannot be sent with std")]
        // SAFETY: the message points to live memory that has room for one header and one descriptor.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor);
            check(libc::sendmsg(outlet.as_raw_fd(), message, libc::MSG_NOSIGNAL)).map(|_| ())
        }
    })
}

/// Waits for a descriptor; `None` when no sender is left.
pub(super) fn receive(inbox: &UnixStream) -> Option<OwnedFd> {
    let (mut byte, mut control) = ([0], Control::default());
    with_message(&mut byte, &mut control, |message| {
        loop {
            #[allow(unsafe_code, reason = "descriptors cannot be received with std")]
            // SAFETY: the message points to live memory; a header that the kernel wrote there is whole, and a
            // descriptor in it is ours.
            unsafe {
                match check(libc::recvmsg(inbox.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC)) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(1..) => {}
                    Ok(_) | Err(_) => return None,
                }
                let header = libc::CMSG_FIRSTHDR(message);
                let is_descriptor = !header.is_null()
                    && (*header).cmsg_level == libc::SOL_SOCKET
                    && (*header).cmsg_type == libc::SCM_RIGHTS;
                let received = is_descriptor.then(|| libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned());
                return received.map(|received| OwnedFd::from_raw_fd(received));
            }
        }
    })
}

fn with_message<T>(byte: &mut [u8; 1], control: &mut Control, act: impl FnOnce(&mut libc::msghdr) -> T) -> T {
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    #[allow(unsafe_code, reason = "the structure has private padding on some systems")]
    // SAFETY: all bytes zero is a valid, empty message; the length of the control part is computed only.
    let (mut message, control_bytes) =
        unsafe { (MaybeUninit::<libc::msghdr>::zeroed().assume_init(), libc::CMSG_SPACE(size_of::<RawFd>() as u32)) };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = control_bytes as _;
    act(&mut message)
}

fn check(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_descriptor_goes_through_and_a_closed_outlet_ends_the_wait() {
        let (inbox, outlet) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&outlet, writer.as_raw_fd()).unwrap();
        drop((writer, outlet));
        let mut received = std::fs::File::from(receive(&inbox).unwrap());
        received.write_all(b"through").unwrap();
        drop(received);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        assert!(receive(&inbox).is_none());
    }

    #[test]
    fn a_message_without_a_descriptor_is_none() {
        let (inbox, mut outlet) = UnixStream::pair().unwrap();
        outlet.write_all(b"!").unwrap();
        assert!(receive(&inbox).is_none());
    }
}
