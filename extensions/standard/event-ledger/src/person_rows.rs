//! Persons as rows: who is linked to which identities.

use crate::contract::{Identity, Person};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Record, Statement, StorageError, Transaction};

/// Links an identity to a person, who is made if missing. The transaction holds the key of persons.
pub(crate) fn link(
    tx: &mut dyn Transaction,
    person: &str,
    identity: &Identity,
    now_ms: u64,
) -> Result<Person, StorageError> {
    tx.execute(&statement!(
        "INSERT INTO persons (name, made_at) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
        person,
        now_ms
    ))?;
    tx.execute(&statement!(
        "INSERT INTO person_identities (channel, identity, person, linked_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (channel, identity) DO UPDATE SET person = ?3, linked_at = ?4",
        &identity.channel,
        &identity.id,
        person,
        now_ms
    ))?;
    // Whoever has no identity left is nobody any more.
    tx.execute(&statement!("DELETE FROM persons WHERE name NOT IN (SELECT person FROM person_identities)"))?;
    let rows = tx.query(&identities_of(person))?;
    Ok(people(&rows)?.into_iter().next().unwrap_or_else(|| Person { name: person.to_owned(), identities: Vec::new() }))
}

/// The identities of one person.
pub(crate) fn identities_of(person: &str) -> Statement {
    statement!(
        "SELECT person, channel, identity FROM person_identities WHERE person = ?1 ORDER BY channel, identity",
        person
    )
}

/// The identities of the person whom a channel knows by a name.
pub(crate) fn identities_beside(channel: &str, id: &str) -> Statement {
    statement!(
        "SELECT person, channel, identity FROM person_identities WHERE person =
             (SELECT o.person FROM person_identities o WHERE o.channel = ?1 AND o.identity = ?2)
         ORDER BY channel, identity",
        channel,
        id
    )
}

/// The identities of everybody.
pub(crate) fn all_identities() -> Statement {
    statement!("SELECT person, channel, identity FROM person_identities ORDER BY person, channel, identity")
}

/// The persons of rows that are ordered by person.
pub(crate) fn people(rows: &[Record]) -> Result<Vec<Person>, StorageError> {
    let mut people: Vec<Person> = Vec::new();
    for row in rows {
        let identity = Identity { channel: row.text(1)?.to_owned(), id: row.text(2)?.to_owned() };
        match people.last_mut() {
            Some(last) if last.name == row.text(0)? => last.identities.push(identity),
            _ => people.push(Person { name: row.text(0)?.to_owned(), identities: vec![identity] }),
        }
    }
    Ok(people)
}
