//! Where an import leads inside the folder of an extension.
//!
//! Pure.

/// The file that `specifier` means in the file `referrer`, both below the extension's folder; `None` if it leads out.
pub(crate) fn resolve(specifier: &str, referrer: &str) -> Option<String> {
    let mut parts: Vec<&str> = referrer.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stay_below_the_folder() {
        let table = [
            ("./logic.ts", "index.ts", Some("logic.ts")),
            ("./lib/a.ts", "index.ts", Some("lib/a.ts")),
            ("../logic.ts", "lib/a.ts", Some("logic.ts")),
            ("./b.ts", "lib/a.ts", Some("lib/b.ts")),
            (".//b.ts", "lib/a.ts", Some("lib/b.ts")),
            ("../x.ts", "index.ts", None),
            ("./../../x.ts", "lib/a.ts", None),
        ];
        for (specifier, referrer, expected) in table {
            assert_eq!(resolve(specifier, referrer).as_deref(), expected, "{specifier} in {referrer}");
        }
    }
}
