//! The table in `docs/hosts.md`: a row for each agent, between two marks, so that one agent can be run again alone.

const BEGIN: &str = "<!-- live: written by `cargo xtask live` -->";
const END: &str = "<!-- /live -->";

const HEAD: &str = "\
## Real agents

Each agent ran without a terminal, against a scripted model, in projects where `dispatch init` had registered it. \
`cargo xtask live` repeats it and writes this table; `dispatch canary --live` does the first three for what is installed \
on a machine. *Called*: the call was judged. *Deny*: the call did not run, and the model was told the reason. *Allow*: the \
model was told the same as without Dispatch. *Ask*: a question did not let the call run or hang, in each of the modes. \
*Failure*: a failed command is in the records. *Off switch*: the file that switches hooks off was not written, neither by \
the shell nor by the agent's own tool. *Undo*: after `init --undo` the project was as before `init`. *Clone*: without \
Dispatch on the machine the agent works, and says once what is missing.

| Host | Version | Run on | Called | Deny | Allow | Ask | Failure | Off switch | Undo | Clone |
|---|---|---|---|---|---|---|---|---|---|---|
";

const FOOT: &str = "
Not driven: Cursor, Windsurf, Devin, Kiro and VS Code Copilot need an account or their editor and talk to their maker's
servers; Crush's npm package fetches its program from a release page, which a registry does not have.
";

/// What one check came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) holds: bool,
    pub(super) text: String,
}

impl Cell {
    pub(super) fn yes(text: impl Into<String>) -> Self {
        Self { holds: true, text: text.into() }
    }

    pub(super) fn no(why: impl std::fmt::Display) -> Self {
        Self { holds: false, text: format!("**no**: {why}") }
    }

    pub(super) fn of(holds: bool, why: impl FnOnce() -> String) -> Self {
        if holds { Self::yes("yes") } else { Self::no(why()) }
    }
}

/// What one agent did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostRow {
    pub(super) host: String,
    pub(super) version: String,
    pub(super) date: String,
    pub(super) cells: Vec<Cell>,
}

impl HostRow {
    pub(super) fn holds(&self) -> bool {
        self.cells.iter().all(|cell| cell.holds)
    }

    /// The row as Markdown.
    pub(super) fn line(&self) -> String {
        let head = [format!("`{}`", self.host), self.version.clone(), self.date.clone()];
        let cells: Vec<String> = self.cells.iter().map(|cell| one_line(&cell.text)).collect();
        format!("| {} | {} |", head.join(" | "), cells.join(" | "))
    }
}

/// The page with these rows in the place of those of the same agents.
pub(super) fn with_rows(page: &str, rows: &[HostRow]) -> String {
    let (before, section) = match page.split_once(BEGIN) {
        Some((before, rest)) => (before.trim_end(), rest.split_once(END).map_or(rest, |(section, _)| section)),
        None => (page.trim_end(), ""),
    };
    let mut lines: Vec<String> = section.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
    for row in rows {
        let start = format!("| `{}` |", row.host);
        match lines.iter_mut().find(|line| line.starts_with(&start)) {
            Some(line) => *line = row.line(),
            None => lines.push(row.line()),
        }
    }
    format!("{before}\n\n{BEGIN}\n\n{HEAD}{}\n{FOOT}\n{END}\n", lines.join("\n"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(host: &str, cell: Cell) -> HostRow {
        HostRow { host: host.to_owned(), version: "1".to_owned(), date: "2026-01-01".to_owned(), cells: vec![cell] }
    }

    #[test]
    fn a_run_of_one_agent_leaves_the_rows_of_the_others() {
        let first = with_rows("# Hosts\n", &[row("a", Cell::yes("yes")), row("b", Cell::no("x | y"))]);
        assert!(first.contains("| `b` | 1 | 2026-01-01 | **no**: x \\| y |"), "{first}");
        let second = with_rows(&first, &[row("b", Cell::yes("yes"))]);
        assert!(second.contains("| `a` | 1 | 2026-01-01 | yes |\n| `b` | 1 | 2026-01-01 | yes |"), "{second}");
        assert_eq!(second.matches(BEGIN).count(), 1);
        assert_eq!(with_rows(&second, &[]), second);
        assert!(second.starts_with("# Hosts\n\n"));
    }
}
