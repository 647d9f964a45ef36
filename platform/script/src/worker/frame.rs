//! Frames on a pipe: four bytes of length, little-endian, then JSON.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest frame either side accepts: a request with its source and arguments, or a result.
pub(super) const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let body = frame.len() - 4;
    let length = u32::try_from(body)
        .ok()
        .filter(|_| body <= MAX_FRAME_BYTES)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "frame too long"))?;
    frame.splice(..4, length.to_le_bytes());
    Ok(frame)
}

pub(super) fn write(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    output.write_all(&encode(message)?)?;
    output.flush()
}

/// The next message, or nothing at a clean end.
pub(super) fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match input.read(&mut length)? {
        0 => return Ok(None),
        got => input.read_exact(length.get_mut(got..).unwrap_or(&mut []))?,
    }
    let length = u64::from(u32::from_le_bytes(length));
    if length > MAX_FRAME_BYTES as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
    }
    let mut body = Vec::new();
    if input.take(length).read_to_end(&mut body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(serde_json::from_slice(&body)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_length_is_refused_before_memory_is_taken() {
        let mut input = &[0xff, 0xff, 0xff, 0xff, b'1'][..];
        let error = read::<u8>(&mut input).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    proptest! {
        #[test]
        fn frames_come_back_in_order_and_torn_ones_do_not(texts: Vec<String>, torn in 1_usize..8) {
            let mut pipe = Vec::new();
            for text in &texts {
                write(&mut pipe, text).unwrap();
            }
            let mut input = pipe.as_slice();
            for text in &texts {
                let got = read::<String>(&mut input).unwrap();
                prop_assert_eq!(got.as_ref(), Some(text));
            }
            prop_assert_eq!(read::<String>(&mut input).unwrap(), None);

            let last = encode(&"some text").unwrap();
            let mut input = &last[..last.len() - torn];
            prop_assert!(read::<String>(&mut input).is_err());
        }

        #[test]
        fn noise_never_panics(bytes: Vec<u8>) {
            let _ = read::<String>(&mut bytes.as_slice());
        }
    }
}
