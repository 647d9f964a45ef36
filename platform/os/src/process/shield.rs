//! Keeps what is in this process's memory, keys above all, from other processes of the same user.

/// From now on no other process of this user can read our memory or the environment we were started with,
/// and a crash leaves no core file; root still can. Children that run another program are as readable as ever.
/// Does nothing where the system has no such switch.
pub fn shield_memory() {
    #[cfg(target_os = "linux")]
    // A system that refuses leaves things as they were, which is no reason not to work.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_switch_is_set() {
        super::shield_memory();
        let now = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(now, rustix::process::DumpableBehavior::NotDumpable);
    }
}
