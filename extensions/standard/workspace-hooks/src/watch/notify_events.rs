//! What a notice of the system means.

use super::observation::Observation;
use notify::event::{AccessKind, AccessMode, CreateKind, Flag, ModifyKind, RenameMode};
use notify::{Event, EventKind};

/// Whether the system says when a writer is done. Where it does not, each write counts.
const CLOSE_IS_TOLD: bool = cfg!(target_os = "linux");

/// What a notice means; `None` for reads and for what changes no content.
pub(super) fn observed(notice: notify::Result<Event>) -> Option<Observation> {
    // A notice that could not be read is a lost one.
    let Ok(event) = notice else { return Some(Observation::Lost) };
    if event.flag() == Some(Flag::Rescan) {
        return Some(Observation::Lost);
    }
    let mut paths = event.paths.into_iter();
    let writing = if CLOSE_IS_TOLD { Observation::Writing } else { Observation::Written };
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => paths.next().map(Observation::Written),
        EventKind::Create(CreateKind::Folder) => paths.next().map(Observation::Folder),
        EventKind::Create(CreateKind::File) | EventKind::Modify(ModifyKind::Data(_)) => paths.next().map(writing),
        EventKind::Create(_) => paths.next().map(Observation::Arrived),
        EventKind::Remove(_) => paths.next().map(Observation::Gone),
        EventKind::Modify(ModifyKind::Name(mode)) => match mode {
            RenameMode::Both => Some(Observation::Moved(paths.next()?, paths.next()?)),
            RenameMode::From => paths.next().map(Observation::Gone),
            // Without a word about the direction, a look at the place tells.
            RenameMode::To | RenameMode::Any | RenameMode::Other => paths.next().map(Observation::Arrived),
        },
        EventKind::Modify(ModifyKind::Any | ModifyKind::Other) => paths.next().map(Observation::Written),
        EventKind::Any | EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) | EventKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{DataChange, MetadataKind, RemoveKind};
    use std::path::PathBuf;

    #[test]
    fn notices_become_what_they_mean() {
        let a = || PathBuf::from("/w/a");
        let b = || PathBuf::from("/w/b");
        let rename = |mode| EventKind::Modify(ModifyKind::Name(mode));
        for (kind, paths, expected) in [
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), vec![a()], Some(Observation::Written(a()))),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), vec![a()], None),
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), vec![a()], None),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), vec![a()], None),
            (EventKind::Create(CreateKind::Folder), vec![a()], Some(Observation::Folder(a()))),
            (EventKind::Remove(RemoveKind::Folder), vec![a()], Some(Observation::Gone(a()))),
            (rename(RenameMode::From), vec![a()], Some(Observation::Gone(a()))),
            (rename(RenameMode::To), vec![a()], Some(Observation::Arrived(a()))),
            (rename(RenameMode::Both), vec![a(), b()], Some(Observation::Moved(a(), b()))),
            (rename(RenameMode::Both), vec![a()], None),
            (EventKind::Other, vec![], None),
        ] {
            let event = Event { kind, paths, attrs: notify::event::EventAttributes::default() };
            assert_eq!(observed(Ok(event)), expected, "{kind:?}");
        }
        let write = Event::new(EventKind::Modify(ModifyKind::Data(DataChange::Any))).add_path(a());
        assert!(matches!(observed(Ok(write)), Some(Observation::Writing(_) | Observation::Written(_))));
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(observed(Ok(overflow)), Some(Observation::Lost));
        assert_eq!(observed(Err(notify::Error::generic("x"))), Some(Observation::Lost));
    }
}
