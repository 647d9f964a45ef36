//! `dispatch intent match`

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_glob::Glob;
use std::io::{BufRead, ErrorKind, Read};

/// A longer line is rejected.
const MAX_PATH_BYTES: u64 = 64 * 1024;

/// Prints the paths of standard input that match.
pub(super) fn matching(pattern: &str, printer: &Printer) -> Result<Status, Failure> {
    let glob = Glob::new(pattern).map_err(|error| Failure::usage(format!("invalid glob `{pattern}`: {error}")))?;
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = input.by_ref().take(MAX_PATH_BYTES).read_until(b'\n', &mut line);
        match count {
            Ok(0) => return Ok(Status::Done),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::internal(format!("cannot read standard input: {error}"))),
        }
        if line.len() as u64 == MAX_PATH_BYTES && !line.ends_with(b"\n") {
            return Err(Failure::usage(format!("a line of standard input is longer than {MAX_PATH_BYTES} bytes"))
                .hint("write one path per line"));
        }
        let path = line.strip_suffix(b"\n").unwrap_or(&line);
        let path = path.strip_suffix(b"\r").unwrap_or(path);
        let matches = std::str::from_utf8(path).is_ok_and(|path| glob.is_match(path));
        if matches && printer.stream(path).is_err() {
            return Ok(Status::Done);
        }
    }
}
