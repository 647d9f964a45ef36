//! A server that has worked and has nothing to do gives memory back.

use core::time::Duration;
use dispatch_os::memory::give_back_unused;
use dispatch_os::time::process_processor_time;

/// How often it is looked whether there is something to do.
const LOOK: Duration = Duration::from_secs(4);
/// Whoever used more than this of the processor between two looks has work.
const WORK: Duration = Duration::from_millis(120);
/// Threads and connections of idle stores end after 20 seconds; what they held is free then.
const LOOKS_AFTER_WORK: u32 = 7;

/// Runs as long as the server does.
pub(crate) async fn give_memory_back_when_idle() {
    let (mut used, mut looks_left) = (process_processor_time(), LOOKS_AFTER_WORK);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = process_processor_time();
        if now.saturating_sub(used) > WORK {
            looks_left = LOOKS_AFTER_WORK;
        } else if looks_left > 0 {
            looks_left -= 1;
            give_back_unused();
        }
        used = process_processor_time();
    }
}
