//! One channel: what is asked for on it, and what becomes of that.

use std::sync::Arc;
use std::time::Instant;

use holdfast_app::Actor;
use holdfast_app::accounts::authentication::authenticate_key;
use holdfast_git::protocol::Version;
use russh::server::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::time::timeout;
use tracing::Instrument;

use crate::command::{self, Command, Service};
use crate::{Context, refusal, service};

pub type Writer = ChannelWriteHalf<Msg>;

enum Wish {
    Command { line: Vec<u8>, version: Version },
    Shell { terminal: bool },
}

/// What the client's program ends with.
mod status {
    pub const DONE: u32 = 0;
    pub const NOTHING_HERE: u32 = 1;
    /// As git itself does.
    pub const REFUSED: u32 = 128;
}

pub async fn serve(context: Arc<Context>, key: Arc<str>, channel: Channel<Msg>) {
    let (mut reader, writer) = channel.split();
    let wish = timeout(context.settings.handshake_timeout, hear(&mut reader)).await;
    let end = async |status: Option<u32>| {
        if let Some(status) = status {
            writer.exit_status(status).await?;
            writer.eof().await?;
        }
        writer.close().await
    };
    let status = match wish {
        Ok(Some(wish)) => Some(fulfil(&context, &key, wish, &mut reader, &writer).await),
        _ => None,
    };
    // Whoever does not listen is not waited for.
    timeout(context.settings.idle_timeout, end(status)).await.ok();
}

/// None if the client leaves before it says what it wants.
async fn hear(reader: &mut ChannelReadHalf) -> Option<Wish> {
    let (mut version, mut terminal) = (Version::V0, false);
    loop {
        match reader.wait().await? {
            ChannelMsg::SetEnv { variable_name, variable_value, .. } => {
                version = command::version(&variable_name, &variable_value).unwrap_or(version);
            }
            ChannelMsg::RequestPty { .. } => terminal = true,
            ChannelMsg::RequestShell { .. } => return Some(Wish::Shell { terminal }),
            ChannelMsg::Exec { command, .. } => return Some(Wish::Command { line: command, version }),
            ChannelMsg::Close => return None,
            _ => {}
        }
    }
}

async fn fulfil(context: &Context, key: &str, wish: Wish, reader: &mut ChannelReadHalf, writer: &Writer) -> u32 {
    // Asked again for each wish: a connection may outlive a key, or its owner's welcome.
    let actor = match authenticate_key(&context.app, key).await {
        Ok(actor) => actor,
        Err(error) => {
            complain(context, writer, &refusal::words(&error, Service::UploadPack)).await;
            return status::REFUSED;
        }
    };
    match wish {
        Wish::Shell { terminal } => greet(context, &actor, terminal, writer).await,
        Wish::Command { line, version } => match Command::parse(&line) {
            Some(command) => run(context, &actor, &command, version, reader, writer).await,
            None => {
                let text = "Only git is served here, with the commands git-upload-pack, git-receive-pack and \
                            git-upload-archive.";
                complain(context, writer, text).await;
                status::NOTHING_HERE
            }
        },
    }
}

async fn greet(context: &Context, actor: &Actor, terminal: bool, writer: &Writer) -> u32 {
    let name = actor.caller().map(|caller| caller.account.person.username.as_str()).unwrap_or_default();
    let end = if terminal { "There is no shell here, only git.\r\n" } else { "" };
    let line_end = if terminal { "\r\n" } else { "\n" };
    let text = format!("Welcome to Holdfast, @{name}!{line_end}{end}");
    timeout(context.settings.idle_timeout, writer.data_bytes(text)).await.ok();
    if terminal { status::NOTHING_HERE } else { status::DONE }
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
    let span = tracing::info_span!("ssh", user, service = command.service.name(), path = ?command.path);
    let work = async {
        let begun = Instant::now();
        let outcome = service::serve(context, actor, command, version, reader, writer).await;
        let milliseconds = begun.elapsed().as_millis() as u64;
        match &outcome {
            Ok(()) => tracing::info!(milliseconds, "served"),
            Err(error) if refusal::is_ours(error) => tracing::error!(%error, milliseconds, "not served"),
            Err(error) => tracing::info!(%error, milliseconds, "not served"),
        }
        outcome
    };
    match work.instrument(span).await {
        Ok(()) => status::DONE,
        Err(error) => {
            complain(context, writer, &refusal::words(&error, command.service)).await;
            status::REFUSED
        }
    }
}

async fn complain(context: &Context, writer: &Writer, text: &str) {
    say(context, writer, &format!("ERROR: {text}")).await;
}

/// A line for the person at the other end, beside what the programs say to each other.
pub async fn say(context: &Context, writer: &Writer, text: &str) {
    let line = format!("{text}\n");
    timeout(context.settings.idle_timeout, writer.extended_data_bytes(STANDARD_ERROR, line)).await.ok();
}

const STANDARD_ERROR: u32 = 1;
