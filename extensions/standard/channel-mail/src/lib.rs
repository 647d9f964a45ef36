//! Mail: mailboxes are read over IMAP as events, and replies leave over SMTP, once.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;

mod account_settings;
mod adapter;
mod automatic_mail;
mod connection;
mod extension;
mod failed_fetches;
mod imap_session;
mod mail_event;
mod mail_headers;
mod mailbox_position;
mod mailbox_reader;
mod reply_mail;
mod send_journal;
mod sender_check;
mod server_address;
mod smtp_sending;
mod threading;

pub use extension::extension;
