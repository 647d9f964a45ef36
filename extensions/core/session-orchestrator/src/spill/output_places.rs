//! Where a tool's result says that its full output is.
//!
//! Pure.

use dispatch_kernel::runtime::{FULL_OUTPUT_IN, PLACE_ENDS};
use std::path::{Component, Path};

/// A file with a full output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutputPlace {
    /// The path that the model was told, on whatever node that was.
    pub(super) told: String,
    /// The file's name in the folder of its session.
    pub(super) file: String,
}

/// The places of this session that a result names. A path of another session or with an odd name is left alone: the
/// text of a tool can say anything.
pub(super) fn places(text: &str, session: &str) -> Vec<OutputPlace> {
    let told = text.split(FULL_OUTPUT_IN).skip(1).filter_map(|rest| rest.split_once(PLACE_ENDS)).map(|(told, _)| told);
    told.filter_map(|told| place(told, session)).collect()
}

fn place(told: &str, session: &str) -> Option<OutputPlace> {
    let mut parts = Path::new(told).components().rev();
    let file = match parts.next()? {
        Component::Normal(name) => name.to_str()?.to_owned(),
        _ => return None,
    };
    let is_ours = parts.next()? == Component::Normal(session.as_ref());
    (is_ours && file.ends_with(".txt") && Path::new(told).is_absolute())
        .then(|| OutputPlace { told: told.to_owned(), file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_names_the_outputs_of_its_session() {
        let said = |place: &str| format!("head\n[... 900 bytes left out; {FULL_OUTPUT_IN}{place}{PLACE_ENDS}\ntail");
        let found = places(&said("/a/outputs/s1/call-1.txt"), "s1");
        let expected = OutputPlace { told: "/a/outputs/s1/call-1.txt".into(), file: "call-1.txt".into() };
        assert_eq!(found, [expected]);
        for odd in ["/a/outputs/s2/call-1.txt", "s1/call-1.txt", "/a/s1/..", "/a/s1/token", "", "/s1/a.txt\n"] {
            assert_eq!(places(&said(odd), "s1"), [], "{odd}");
        }
        assert_eq!(places("the full output is in ", "s1"), []);
        let two = format!("{}{}", said("/a/s1/x.txt"), said("/b/s1/y.txt"));
        assert_eq!(places(&two, "s1").len(), 2);
    }
}
