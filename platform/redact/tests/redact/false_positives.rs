//! Ordinary files come out as they went in.

use std::path::Path;

use dispatch_redact::Redactor;

#[test]
fn ordinary_files_stay() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut lines = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is there") {
        let path = entry.expect("it can be listed").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        let redactor = Redactor::builtin();
        let found: Vec<_> = redactor
            .find(&text)
            .into_iter()
            .map(|finding| {
                let line = text[..finding.range.start].lines().count();
                format!("{}:{line}: {} {:?}", path.display(), finding.kind, &text[finding.range])
            })
            .collect();
        assert!(found.is_empty(), "{found:#?}");
        assert_eq!(redactor.redact(&text), text);
        lines += text.lines().count();
    }
    assert!(lines >= 300, "the corpus has only {lines} lines");
}
