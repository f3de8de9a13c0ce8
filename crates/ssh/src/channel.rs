//! Serves one channel: reads the channel request, executes it and sends the exit status.

use std::sync::Arc;
use std::time::Instant;

use holdfast_app::Actor;
use holdfast_app::accounts::authentication::authenticate_key;
use holdfast_git::protocol::Version;
use russh::server::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf};
use tokio::time::timeout;
use tracing::Instrument;

use crate::command::{self, Command, Service};
use crate::stderr::{Writer, write_stderr};
use crate::{Context, error_message, service};

enum ChannelRequest {
    Command { line: Vec<u8>, version: Version },
    Shell { has_terminal: bool },
}

/// Exit statuses of commands.
mod status {
    pub const SUCCESS: u32 = 0;
    pub const UNSUPPORTED: u32 = 1;
    /// The exit status of git itself after a fatal error.
    pub const REJECTED: u32 = 128;
}

/// Serves a channel until its command has ended or the client closes it.
pub async fn serve(context: Arc<Context>, fingerprint: Arc<str>, channel: Channel<Msg>) {
    let (mut reader, writer) = channel.split();
    let request = timeout(context.settings.handshake_timeout, read_request(&mut reader)).await;
    let close = async |status: Option<u32>| {
        if let Some(status) = status {
            writer.exit_status(status).await?;
            writer.eof().await?;
        }
        writer.close().await
    };
    let status = match request {
        Ok(Some(wish)) => Some(handle_request(&context, &fingerprint, wish, &mut reader, &writer).await),
        _ => None,
    };
    // Bounded, because the client may have stopped reading.
    timeout(context.settings.idle_timeout, close(status)).await.ok();
}

/// Reads channel requests up to the first `exec` or `shell`. Returns `None` if the client closes the channel before.
async fn read_request(reader: &mut ChannelReadHalf) -> Option<ChannelRequest> {
    let (mut version, mut has_terminal) = (Version::V0, false);
    loop {
        match reader.wait().await? {
            ChannelMsg::SetEnv { variable_name, variable_value, .. } => {
                version = command::protocol_version(&variable_name, &variable_value).unwrap_or(version);
            }
            ChannelMsg::RequestPty { .. } => has_terminal = true,
            ChannelMsg::RequestShell { .. } => return Some(ChannelRequest::Shell { has_terminal }),
            ChannelMsg::Exec { command, .. } => return Some(ChannelRequest::Command { line: command, version }),
            ChannelMsg::Close => return None,
            _ => {}
        }
    }
}

async fn handle_request(
    context: &Context,
    fingerprint: &str,
    request: ChannelRequest,
    reader: &mut ChannelReadHalf,
    writer: &Writer,
) -> u32 {
    // The key is checked again for each command: a connection can outlive its key or the access of its owner.
    let actor = match authenticate_key(&context.app, fingerprint).await {
        Ok(actor) => actor,
        Err(error) => {
            write_error(context, writer, &error_message::user_message(&error, Service::UploadPack)).await;
            return status::REJECTED;
        }
    };
    match request {
        ChannelRequest::Shell { has_terminal } => send_greeting(context, &actor, has_terminal, writer).await,
        ChannelRequest::Command { line, version } => match Command::parse(&line) {
            Some(command) => run(context, &actor, &command, version, reader, writer).await,
            None => {
                let text = "This server runs only the commands git-upload-pack, git-receive-pack and \
                            git-upload-archive.";
                write_error(context, writer, text).await;
                status::UNSUPPORTED
            }
        },
    }
}

async fn send_greeting(context: &Context, actor: &Actor, has_terminal: bool, writer: &Writer) -> u32 {
    let name = match actor {
        Actor::User(user) => format!("@{}", user.account.summary.username),
        Actor::DeployKey(key) => format!("deploy key {}", key.title),
        Actor::Anonymous(_) | Actor::Operator => String::new(),
    };
    let no_shell_text = if has_terminal { "This server provides git access only, no shell.\r\n" } else { "" };
    let line_end = if has_terminal { "\r\n" } else { "\n" };
    let text = format!("Welcome to Holdfast, {name}!{line_end}{no_shell_text}");
    timeout(context.settings.idle_timeout, writer.data_bytes(text)).await.ok();
    if has_terminal { status::UNSUPPORTED } else { status::SUCCESS }
}

async fn run(
    context: &Context,
    actor: &Actor,
    command: &Command,
    version: Version,
    reader: &mut ChannelReadHalf,
    writer: &Writer,
) -> u32 {
    let user = actor.user_id().map(|id| id.get());
    let deploy_key = match actor {
        Actor::DeployKey(key) => Some(key.id.get()),
        Actor::Anonymous(_) | Actor::Operator | Actor::User(_) => None,
    };
    let span = tracing::info_span!("ssh", user, deploy_key, service = command.service.name(), path = ?command.path);
    let work = async {
        let started = Instant::now();
        let outcome = service::serve(context, actor, command, version, reader, writer).await;
        let milliseconds = started.elapsed().as_millis() as u64;
        match &outcome {
            Ok(()) => tracing::info!(milliseconds, "command completed"),
            Err(error) if error_message::is_server_error(error) => {
                tracing::error!(%error, milliseconds, "command failed")
            }
            Err(error) => tracing::info!(%error, milliseconds, "command failed"),
        }
        outcome
    };
    match work.instrument(span).await {
        Ok(()) => status::SUCCESS,
        Err(error) => {
            write_error(context, writer, &error_message::user_message(&error, command.service)).await;
            status::REJECTED
        }
    }
}

async fn write_error(context: &Context, writer: &Writer, text: &str) {
    write_stderr(context, writer, &format!("ERROR: {text}")).await;
}
