//! The table of guards in `docs/benchmarks.md`, between two marks.

const BEGIN: &str = "<!-- rivals: written by `cargo xtask rivals` -->";
const END: &str = "<!-- /rivals -->";

/// The figures of one guard.
pub(super) struct RivalFigures {
    pub(super) name: String,
    /// Everyday lines that it objects to.
    pub(super) everyday: usize,
    /// Ways around that it lets pass.
    pub(super) passed: usize,
    /// Those of them that are not about Dispatch.
    pub(super) passed_general: usize,
}

/// What all guards did in one run.
pub(super) struct RivalTable {
    pub(super) everyday: usize,
    pub(super) around: usize,
    pub(super) general: usize,
    pub(super) rows: Vec<RivalFigures>,
    /// Who was not compared, with the reason.
    pub(super) left_out: Vec<String>,
}

impl RivalTable {
    /// As Markdown.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "| guard | objects to everyday lines (of {}) | lets pass of all ways around ({}) | of those not about Dispatch ({}) |\n|---|---|---|---|\n",
            thousands(self.everyday),
            thousands(self.around),
            thousands(self.general)
        );
        for row in &self.rows {
            let figures = [row.everyday, row.passed, row.passed_general].map(thousands).join(" | ");
            text.push_str(&format!("| {} | {figures} |\n", row.name));
        }
        if !self.left_out.is_empty() {
            text.push_str(&format!("\nNot compared: {}.\n", self.left_out.join("; ")));
        }
        text
    }

    /// A page with this table in the place of the one before.
    pub(super) fn within(&self, page: &str) -> String {
        let (before, rest) = page.split_once(BEGIN).unwrap_or((page, ""));
        let after = rest.split_once(END).map_or("\n", |(_, after)| after);
        format!("{}\n\n{BEGIN}\n\n{}\n{END}{after}", before.trim_end(), self.text())
    }
}

fn thousands(number: usize) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        above => format!("{above},{:03}", number % 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        let row = |passed| RivalFigures { name: "a 1".to_owned(), everyday: 0, passed, passed_general: 7 };
        let table = |passed| RivalTable {
            everyday: 3_021,
            around: 12,
            general: 9,
            rows: vec![row(passed)],
            left_out: vec!["b 2 is on no registry".to_owned()],
        };
        let first = table(1_221).within("# Page\n");
        assert!(first.contains("(of 3,021)") && first.contains("| a 1 | 0 | 1,221 | 7 |"), "{first}");
        assert!(first.contains("Not compared: b 2 is on no registry."), "{first}");
        let page = format!("{first}\n## next\n");
        let second = table(8).within(&page);
        assert!(second.contains("| a 1 | 0 | 8 | 7 |") && !second.contains("1,221"), "{second}");
        assert!(second.ends_with("\n## next\n"), "{second}");
        assert_eq!(table(8).within(&second), second);
    }
}
