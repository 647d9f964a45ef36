//! Reads just enough of an ELF file to say whether it needs a dynamic loader.

/// How an executable starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// The kernel runs it as it is.
    Static,
    /// It asks for a loader.
    Dynamic,
    /// Not a 64-bit little-endian ELF file, or a damaged one.
    Unknown,
}

const MAGIC_64_LITTLE: &[u8] = &[0x7f, b'E', b'L', b'F', 2, 1];
const TABLE_OFFSET: usize = 0x20;
const ENTRY_SIZE: usize = 0x36;
const ENTRY_COUNT: usize = 0x38;
const PROGRAM_INTERPRETER: u64 = 3;

/// Says how the executable in `bytes` starts.
pub(crate) fn linkage(bytes: &[u8]) -> Linkage {
    if !bytes.starts_with(MAGIC_64_LITTLE) {
        return Linkage::Unknown;
    }
    match has_interpreter(bytes) {
        Some(true) => Linkage::Dynamic,
        Some(false) => Linkage::Static,
        None => Linkage::Unknown,
    }
}

fn has_interpreter(bytes: &[u8]) -> Option<bool> {
    let table = number(bytes, TABLE_OFFSET, 8)?;
    let size = number(bytes, ENTRY_SIZE, 2)?;
    for index in 0..number(bytes, ENTRY_COUNT, 2)? {
        let entry = usize::try_from(table.checked_add(index * size)?).ok()?;
        if number(bytes, entry, 4)? == PROGRAM_INTERPRETER {
            return Some(true);
        }
    }
    Some(false)
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(width)?)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(program_types: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 0x40 + 0x38 * program_types.len()];
        bytes[..6].copy_from_slice(MAGIC_64_LITTLE);
        bytes[TABLE_OFFSET] = 0x40;
        bytes[ENTRY_SIZE] = 0x38;
        bytes[ENTRY_COUNT] = u8::try_from(program_types.len()).unwrap();
        for (index, kind) in program_types.iter().enumerate() {
            bytes[0x40 + 0x38 * index] = *kind;
        }
        bytes
    }

    #[test]
    fn an_interpreter_entry_means_dynamic() {
        assert_eq!(linkage(&file(&[1, 3, 2])), Linkage::Dynamic);
        assert_eq!(linkage(&file(&[1, 2])), Linkage::Static);
        assert_eq!(linkage(&file(&[1, 3])[..0x50]), Linkage::Unknown);
        assert_eq!(linkage(b"MZ"), Linkage::Unknown);
        assert_eq!(linkage(b""), Linkage::Unknown);
    }
}
