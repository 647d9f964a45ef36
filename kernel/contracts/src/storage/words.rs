//! Searching text by its words: an index that a migration declares, and the question that it answers.

use super::StorageError;

/// How a statement of a migration begins that declares an index of words.
const DECLARATION: &str = "CREATE WORD INDEX ON ";
/// The most words of a question that count.
const MAX_WORDS: usize = 16;
/// The most characters of a word that count.
const MAX_WORD_CHARS: usize = 100;

/// An index of the words in a text column. A migration declares it with `CREATE WORD INDEX ON table (column)`; rows that
/// are there already are in it too. The table has an `INTEGER PRIMARY KEY`, and keeps its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordIndex {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
}

impl WordIndex {
    /// The index of a column.
    pub fn on(table: impl Into<String>, column: impl Into<String>) -> Self {
        Self { table: table.into(), column: column.into() }
    }

    /// The index that a statement of a migration declares; none for any other statement.
    #[must_use]
    pub fn declared(statement: &str) -> Option<Self> {
        let rest = statement.trim().strip_prefix(DECLARATION)?;
        let (table, column) = rest.strip_suffix(')')?.split_once('(')?;
        let index = Self::on(table.trim(), column.trim());
        (is_name(&index.table) && is_name(&index.column)).then_some(index)
    }

    /// What the database calls it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}_{}_words", self.table, self.column)
    }
}

/// A search for the rows in whose text every word of a question begins a word, whatever its case and accents. The row
/// with the highest key comes first. Of a long text at least the first 200,000 characters are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordSearch {
    /// Where.
    pub index: WordIndex,
    /// The columns that are wanted of each row.
    pub columns: Vec<String>,
    /// What for. Everything but letters and digits separates words.
    pub question: String,
    /// At most so many rows.
    pub limit: u32,
}

impl WordSearch {
    /// The words of the question: the first 16 of them, and 100 characters of each.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let words = self.question.split(|sign: char| !is_part_of_word(sign)).filter(|word| !word.is_empty());
        words.take(MAX_WORDS).map(|word| word.chars().take(MAX_WORD_CHARS).collect()).collect()
    }

    /// The wanted columns in quotes, as a statement lists them.
    ///
    /// # Errors
    /// When something is not a name.
    pub fn column_list(&self) -> Result<String, StorageError> {
        let names = [&self.index.table, &self.index.column];
        if let Some(wrong) = names.into_iter().chain(&self.columns).find(|name| !is_name(name)) {
            return Err(StorageError::Statement(format!("`{wrong}` is not a name")));
        }
        Ok(self.columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
    }
}

/// An accent that stands behind its letter belongs to the word.
fn is_part_of_word(sign: char) -> bool {
    sign.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&sign)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(question: &str) -> WordSearch {
        WordSearch {
            index: WordIndex::on("t", "c"),
            columns: vec!["id".to_owned(), "end".to_owned()],
            question: question.to_owned(),
            limit: 1,
        }
    }

    #[test]
    fn a_declaration_names_a_table_and_a_column() {
        let index = WordIndex::declared(" CREATE WORD INDEX ON texts (body)\n");
        assert_eq!(index.map(|index| index.name()).as_deref(), Some("texts_body_words"));
        for other in ["CREATE INDEX i ON t (c)", "CREATE WORD INDEX ON t", "CREATE WORD INDEX ON t (a, b)"] {
            assert_eq!(WordIndex::declared(other), None, "{other}");
        }
    }

    #[test]
    fn words_are_letters_and_digits() {
        for (question, words) in [
            ("100% table_top", &["100", "table", "top"][..]),
            ("\"a\" OR -b* NEAR(c)\0d", &["a", "OR", "b", "NEAR", "c", "d"]),
            ("re\u{301}sume\u{301} \u{fc}ber", &["re\u{301}sume\u{301}", "\u{fc}ber"]),
            ("\" \u{1f980} ' \\", &[]),
        ] {
            assert_eq!(search(question).words(), words, "{question}");
        }
        assert_eq!(search(&"x ".repeat(100)).words().len(), MAX_WORDS);
        assert_eq!(search(&"x".repeat(1_000)).words()[0].len(), MAX_WORD_CHARS);
    }

    #[test]
    fn columns_are_names() {
        assert_eq!(search("x").column_list().as_deref(), Ok("\"id\", \"end\""));
        let wrong = WordSearch { columns: vec!["\"; DROP".to_owned()], ..search("x") };
        assert!(wrong.column_list().is_err());
    }
}
