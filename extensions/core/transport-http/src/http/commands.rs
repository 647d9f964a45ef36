//! The commands that extensions add, over HTTP.

use super::answers::{CommandAnswer, CommandInfo, CommandList};
use super::connection::ServerState;
use super::contributed::ROUTE_TIMEOUT_MS;
use super::input::{CommandName, FromHead, JsonBody};
use crate::refusal::Refusal;
use crate::settings::MAX_BODY_BYTES;
use axum::Json;
use axum::extract::State;
use dispatch_contracts::suggest::nearest;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// What a command is called with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RunCommand")]
pub(super) struct RunCommandWire {
    /// The arguments, as texts.
    #[serde(default)]
    args: Vec<String>,
}

pub(super) async fn list(State(shared): ServerState) -> Result<Json<CommandList>, Refusal> {
    let commands = shared.services.extensions()?.commands().into_iter().map(|command| CommandInfo {
        name: command.name,
        summary: command.item.summary,
        extension: command.owner,
    });
    Ok(Json(CommandList { commands: commands.collect() }))
}

pub(super) async fn run(
    State(shared): ServerState,
    FromHead(CommandName(name)): FromHead<CommandName>,
    JsonBody(wanted): JsonBody<RunCommandWire, MAX_BODY_BYTES>,
) -> Result<Json<CommandAnswer>, Refusal> {
    let commands = shared.services.extensions()?.commands();
    let Some(command) = commands.iter().find(|command| command.name == name) else {
        let refusal = Refusal::not_found(format!("no active extension has a command `{name}`"));
        let meant = nearest(&name, commands.iter().map(|command| command.name.as_str()));
        return Err(match meant {
            Some(meant) => refusal.hint(format!("did you mean `{meant}`?")),
            None => refusal.hint("GET /v1/commands lists the commands"),
        });
    };
    let answering = (command.item.respond)(json!({ "args": wanted.args }));
    match tokio::time::timeout(Duration::from_millis(ROUTE_TIMEOUT_MS), answering).await {
        Ok(Ok(answer)) => Ok(Json(CommandAnswer { answer })),
        Ok(Err(error)) => {
            let message = format!("extension `{}`: {error}", command.owner);
            Err(Refusal::new(StatusCode::BAD_GATEWAY, "command_failed", message))
        }
        Err(_) => Err(Refusal::busy(format!(
            "extension `{}` did not answer within {} s",
            command.owner,
            ROUTE_TIMEOUT_MS / 1_000
        ))),
    }
}
