//! Whether the process that started the server is still there.

use dispatch_os::files;
use std::path::Path;

/// Where a process can be looked up by its number, whether it is there; elsewhere it is taken to be.
pub(super) fn is_there(process: u32) -> bool {
    let table = Path::new("/proc");
    !files::exists(table.join("self")) || files::exists(table.join(process.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there() {
        assert!(is_there(std::process::id()));
        #[cfg(target_os = "linux")]
        assert!(!is_there(u32::MAX));
    }
}
