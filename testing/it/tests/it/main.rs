//! The one end-to-end binary: the real executables, in a temporary home and project.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod agent;
mod auth;
#[cfg(target_os = "linux")]
mod call_counter;
mod canary;
#[cfg(target_os = "linux")]
mod canary_live;
mod cli;
mod config;
mod conformance;
mod decide_right;
mod disks;
mod doctor;
mod endless;
mod events;
mod explain;
mod ext;
mod ext_bad_input;
mod ext_calls;
mod ext_clients;
mod ext_compliance;
mod ext_examples;
mod ext_faults;
mod ext_host_api;
mod ext_install;
mod ext_outside;
mod ext_programs;
mod ext_reload;
mod ext_test;
mod floor;
#[cfg(target_os = "linux")]
mod frozen;
mod fuzz;
mod hook_process;
#[cfg(target_os = "linux")]
mod idle_memory;
mod init;
mod installed;
mod intents_bypass;
mod intents_file;
mod intents_findings;
mod intents_first_week;
mod intents_gate;
mod intents_host;
mod intents_mcp;
mod intents_record;
mod intents_streams;
mod intents_teams;
mod intents_trace;
mod killed;
mod modules;
mod own_rules;
mod policy_commands;
#[cfg(target_os = "linux")]
mod react_background;
#[cfg(target_os = "linux")]
mod react_editor;
#[cfg(target_os = "linux")]
mod react_errors;
#[cfg(target_os = "linux")]
mod react_helix;
#[cfg(target_os = "linux")]
mod react_ledger;
#[cfg(target_os = "linux")]
mod react_living;
#[cfg(target_os = "linux")]
mod react_lsp;
#[cfg(target_os = "linux")]
mod react_neovim;
#[cfg(target_os = "linux")]
mod react_nothing_lost;
#[cfg(target_os = "linux")]
mod react_records;
mod react_reload;
#[cfg(target_os = "linux")]
mod react_runs;
#[cfg(target_os = "linux")]
mod react_schedule;
mod react_secrets;
#[cfg(target_os = "linux")]
mod react_sequences;
#[cfg(target_os = "linux")]
mod react_storm;
#[cfg(target_os = "linux")]
mod react_trust;
#[cfg(target_os = "linux")]
mod react_vscode;
#[cfg(target_os = "linux")]
mod react_workspace;
#[cfg(unix)]
mod readme_picture;
mod replay;
mod route_bounds;
#[cfg(target_os = "linux")]
mod route_crash;
mod route_hooks;
#[cfg(target_os = "linux")]
mod route_inbound;
mod route_incidents;
#[cfg(target_os = "linux")]
mod route_mail;
#[cfg(target_os = "linux")]
mod route_mail_faults;
mod route_metrics;
mod route_recipes;
mod route_workspace;
#[cfg(target_os = "linux")]
mod run_approvals;
#[cfg(target_os = "linux")]
mod run_attack;
#[cfg(target_os = "linux")]
mod run_crash;
#[cfg(unix)]
mod run_first;
#[cfg(target_os = "linux")]
mod run_folders;
#[cfg(target_os = "linux")]
mod run_overflow;
#[cfg(target_os = "linux")]
mod run_questions;
#[cfg(target_os = "linux")]
mod run_security;
#[cfg(target_os = "linux")]
mod run_streams;
#[cfg(target_os = "linux")]
mod run_wire;
#[cfg(target_os = "linux")]
mod run_workspace;
mod seeded_random;
mod serve;
mod sessions;
mod state;
#[cfg(target_os = "linux")]
mod storage_chaos;
mod storage_copy;
#[cfg(target_os = "linux")]
mod storage_nodes;
#[cfg(unix)]
mod storage_protection;
mod storage_server;
mod storage_state;
mod trust;
mod up;
mod workspace_hooks_file;
