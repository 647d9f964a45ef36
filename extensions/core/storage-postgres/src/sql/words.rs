//! Indexes of words as PostgreSQL has them: a `tsvector` of each text behind a GIN index. Words are cut by functions of
//! ours, not by the server's parser, which knows addresses, paths and hyphens and would find other words than SQLite.
//!
//! Pure.

use dispatch_contracts::storage::{StorageError, WordIndex, WordSearch};

/// Whether the server has rules for the letters of all languages; without them only ASCII letters change their case.
pub(crate) const HAS_LETTER_RULES: &str =
    "SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu' AND collencoding = -1";

/// The functions that cut texts and questions into words: letters and digits in lower case, without the accents of
/// Latin letters, at most 100 characters of each. A text is cut off before its words could exceed what a `tsvector` holds.
pub(crate) fn functions(has_letter_rules: bool) -> String {
    let rules = if has_letter_rules { "\"und-x-icu\"" } else { "\"C\"" };
    format!(
        r"CREATE OR REPLACE FUNCTION dispatch_words(body text) RETURNS tsvector
          LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 5000 AS $words$
            SELECT array_to_tsvector(COALESCE(array_agg(DISTINCT left(word, 100)), '{{}}'))
            FROM regexp_split_to_table(regexp_replace(normalize(regexp_replace(normalize(
                translate(lower(left(body, 200000) COLLATE {rules}), U&'\03C2', U&'\03C3'), NFD),
                '([a-z])[\u0300-\u036f]+', '\1', 'g'), NFC), '[\u0300-\u036f]', '', 'g') COLLATE {rules},
                '[^[:alnum:]]+') AS word
            WHERE word <> ''
          $words$;
          CREATE OR REPLACE FUNCTION dispatch_word_query(question text) RETURNS tsquery
          LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $words$
            SELECT string_agg('''' || word || ''':*', ' & ')::tsquery
            FROM unnest(tsvector_to_array(dispatch_words(question))) AS word
          $words$;"
    )
}

/// The index itself. Building it indexes the rows that are there.
pub(crate) fn definition(index: &WordIndex) -> String {
    let WordIndex { table, column } = index;
    format!("CREATE INDEX \"{}\" ON \"{table}\" USING gin (dispatch_words(\"{column}\"))", index.name())
}

/// The query for a search in a table that numbers itself by `key`: `$1` are the words, `$2` is the limit.
pub(crate) fn question(search: &WordSearch, key: &str) -> Result<String, StorageError> {
    let columns = search.column_list()?;
    let WordIndex { table, column } = &search.index;
    Ok(format!(
        "SELECT {columns} FROM \"{table}\" WHERE dispatch_words(\"{column}\") @@ dispatch_word_query($1)
         ORDER BY \"{key}\" DESC LIMIT $2"
    ))
}
