//! Generated files: missing, written, stale.

use crate::repository::Repository;

#[test]
fn stale_files_fail_until_they_are_written() {
    let repository = Repository::sound();
    repository.xtask(&["schemas"]).assert_broken("schemas", "docs/checks.md: is generated, but missing");
    repository.xtask(&["schemas", "--write"]).assert_passed();
    repository.xtask(&["schemas"]).assert_passed();
    repository.append("docs/checks.md", "By hand.\n");
    repository.xtask(&["schemas"]).assert_broken("schemas", "differs from what the code generates");
}
