//! The accounts that are read, as rows: who has one, until when, and where it stands. All times are the database's.

use crate::account_lease::{HolderStanding, LEASE_MS, ReadAccount};
use crate::contract::AccountState;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Durability, Keys, Record, Statement, Storage, StorageError, Transaction};
use dispatch_durable_queue::{LeaseToken, OwnerLiveness, Standing, transact, transact_with};
use std::sync::Arc;

const COLUMNS: &str = "channel, account, owner, fence, lease_until, node, state, reason, retries";
/// The longest reason that is stored.
const MAX_REASON_CHARS: usize = 500;

/// The right of this process to read an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccountLease {
    pub(crate) channel: String,
    pub(crate) account: String,
    pub(crate) token: LeaseToken,
}

impl AccountLease {
    /// What every change of the account's row holds.
    pub(crate) fn key(&self) -> String {
        key(&self.channel, &self.account)
    }
}

fn holder_standing(liveness: &dyn OwnerLiveness, row: &ReadAccount) -> HolderStanding {
    match liveness.standing(row.owner.as_deref().unwrap_or_default()) {
        Standing::Alive => HolderStanding::Here,
        Standing::Dead => HolderStanding::Dead,
        Standing::Unknown => HolderStanding::Unknown,
    }
}

fn key(channel: &str, account: &str) -> String {
    format!("event-ledger:account:{channel}:{account}")
}

/// Whether the lease is still the present one. The transaction holds [`AccountLease::key`].
pub(crate) fn is_held(tx: &mut dyn Transaction, lease: &AccountLease) -> Result<bool, StorageError> {
    let found = tx.query(&by_name(&lease.channel, &lease.account))?;
    let Some(row) = found.first().map(read).transpose()? else { return Ok(false) };
    Ok(lease.token.holds(row.owner.as_deref(), row.fence))
}

/// The rows over a store.
pub(crate) struct AccountRows {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) liveness: Arc<dyn OwnerLiveness>,
    /// The name of this process among the owners.
    pub(crate) owner: String,
    /// What people call this process.
    pub(crate) node: String,
}

impl AccountRows {
    /// The time by the clock that leases are kept by.
    pub(crate) fn now_ms(&self) -> u64 {
        self.storage.now_ms().unwrap_or_else(|| self.clock.now_ms())
    }

    /// Takes an account that nobody has, or whose owner is gone.
    pub(crate) async fn claim(&self, channel: &str, account: &str) -> Result<Option<AccountLease>, StorageError> {
        // Most looks find that somebody has it; they need no transaction.
        if let Some(row) = self.find(channel, account).await?
            && !self.is_free(&row)
        {
            return Ok(None);
        }
        let (storage, clock) = (Arc::clone(&self.storage), Arc::clone(&self.clock));
        let (liveness, owner, node) = (Arc::clone(&self.liveness), self.owner.clone(), self.node.clone());
        let (channel, account) = (channel.to_owned(), account.to_owned());
        let keys = Keys::of([key(&channel, &account)]);
        let work = move |tx: &mut dyn Transaction| {
            // The transaction that began just now told the database's time.
            let now_ms = storage.now_ms().unwrap_or_else(|| clock.now_ms());
            let row = tx.query(&by_name(&channel, &account))?.first().map(read).transpose()?;
            let standing = |row: &ReadAccount| holder_standing(liveness.as_ref(), row);
            if row.as_ref().is_some_and(|row| !row.is_free(&owner, standing(row), now_ms)) {
                return Ok(None);
            }
            let token = LeaseToken { owner, fence: row.map_or(0, |row| row.fence) + 1 };
            take(tx, &channel, &account, &token, &node, now_ms)?;
            Ok::<_, StorageError>(Some(AccountLease { channel, account, token }))
        };
        transact(self.storage.as_ref(), keys, work).await
    }

    /// What is known of the process that has the account.
    pub(crate) fn standing(&self, row: &ReadAccount) -> HolderStanding {
        holder_standing(self.liveness.as_ref(), row)
    }

    fn is_free(&self, row: &ReadAccount) -> bool {
        row.is_free(&self.owner, self.standing(row), self.now_ms())
    }

    /// Keeps the account for another while; `false` if somebody else has it.
    pub(crate) async fn renew(&self, lease: &AccountLease) -> Result<bool, StorageError> {
        let until = self.now_ms() + LEASE_MS;
        self.change(lease, move |lease| {
            let sql = "UPDATE read_accounts SET lease_until = ?5
                       WHERE channel = ?1 AND account = ?2 AND owner = ?3 AND fence = ?4";
            statement!(sql, &lease.channel, &lease.account, &lease.token.owner, lease.token.fence, until)
        })
        .await
    }

    /// Stores where the account stands; `false` if somebody else has it.
    pub(crate) async fn report(
        &self,
        lease: &AccountLease,
        state: AccountState,
        reason: Option<String>,
    ) -> Result<bool, StorageError> {
        let now_ms = self.now_ms();
        let reason: Option<String> = reason.map(|reason| reason.chars().take(MAX_REASON_CHARS).collect());
        self.change(lease, move |lease| {
            let sql = "UPDATE read_accounts SET state = ?5, reason = ?6, changed_at = ?7
                       WHERE channel = ?1 AND account = ?2 AND owner = ?3 AND fence = ?4";
            let LeaseToken { owner, fence } = &lease.token;
            statement!(sql, &lease.channel, &lease.account, owner, *fence, state.word(), reason, now_ms)
        })
        .await
    }

    /// Gives the account back, so that another node need not wait for the lease to run out.
    pub(crate) async fn release(&self, lease: &AccountLease) -> Result<bool, StorageError> {
        self.change(lease, |lease| {
            let sql = "UPDATE read_accounts SET owner = NULL, lease_until = 0
                       WHERE channel = ?1 AND account = ?2 AND owner = ?3 AND fence = ?4";
            statement!(sql, &lease.channel, &lease.account, &lease.token.owner, lease.token.fence)
        })
        .await
    }

    /// What a power cut takes from these rows is found out again, so they do not wait for the disk.
    async fn change(
        &self,
        lease: &AccountLease,
        statement: impl FnOnce(&AccountLease) -> Statement + Send + 'static,
    ) -> Result<bool, StorageError> {
        let lease = lease.clone();
        let keys = Keys::of([lease.key()]);
        let work = move |tx: &mut dyn Transaction| Ok::<_, StorageError>(tx.execute(&statement(&lease))? > 0);
        transact_with(self.storage.as_ref(), keys, Durability::Process, work).await
    }

    /// Asks whoever has the account to try it again.
    pub(crate) async fn ask_again(&self, channel: &str, account: &str) -> Result<(), StorageError> {
        let sql = "UPDATE read_accounts SET retries = retries + 1 WHERE channel = ?1 AND account = ?2";
        let update = statement!(sql, channel, account);
        let work = move |tx: &mut dyn Transaction| tx.execute(&update).map(drop);
        transact(self.storage.as_ref(), Keys::of([key(channel, account)]), work).await
    }

    /// Forgets the processes that died and have no account.
    pub(crate) async fn forget_dead(&self) -> Result<(), StorageError> {
        let query = statement!("SELECT owner FROM read_accounts WHERE owner IS NOT NULL");
        let found = self.storage.query(query).await?;
        let holders: Vec<String> = found.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<_, _>>()?;
        self.liveness.forget_dead(&holders);
        Ok(())
    }

    /// The row of an account.
    pub(crate) async fn find(&self, channel: &str, account: &str) -> Result<Option<ReadAccount>, StorageError> {
        self.storage.query(by_name(channel, account)).await?.first().map(read).transpose()
    }
}

fn take(
    tx: &mut dyn Transaction,
    channel: &str,
    account: &str,
    token: &LeaseToken,
    node: &str,
    now_ms: u64,
) -> Result<(), StorageError> {
    tx.execute(&statement!(
        "INSERT INTO read_accounts (channel, account, owner, fence, lease_until, node, state, reason, changed_at, retries)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, 0)
         ON CONFLICT (channel, account) DO UPDATE SET owner = ?3, fence = ?4, lease_until = ?5, node = ?6, state = ?7,
             reason = NULL, changed_at = ?8",
        channel,
        account,
        &token.owner,
        token.fence,
        now_ms + LEASE_MS,
        node,
        AccountState::Waiting.word(),
        now_ms
    ))
    .map(drop)
}

fn by_name(channel: &str, account: &str) -> Statement {
    let sql = format!("SELECT {COLUMNS} FROM read_accounts WHERE channel = ?1 AND account = ?2");
    statement!(sql, channel, account)
}

fn read(record: &Record) -> Result<ReadAccount, StorageError> {
    Ok(ReadAccount {
        channel: record.text(0)?.to_owned(),
        account: record.text(1)?.to_owned(),
        owner: record.optional_text(2)?.map(str::to_owned),
        fence: record.unsigned(3)?,
        lease_until_ms: record.unsigned(4)?,
        node: record.text(5)?.to_owned(),
        state: AccountState::of_word(record.text(6)?).unwrap_or(AccountState::Waiting),
        reason: record.optional_text(7)?.map(str::to_owned),
        retries: record.unsigned(8)?,
    })
}
