//! What git comes for.

mod receive_pack;
mod upload_archive;
mod upload_pack;

use futures_util::StreamExt;
use holdfast_app::repository::fetch::{self, Answer};
use holdfast_app::{Actor, Error, Result, Thing};
use holdfast_git::protocol::Version;
use russh::ChannelReadHalf;
use tokio::io::{AsyncWrite, AsyncWriteExt, BufReader};

use crate::Context;
use crate::channel::{Writer, say};
use crate::command::{Command, Service};
use crate::line::Line;

const BUFFER: usize = 64 << 10;

pub async fn serve(
    context: &Context,
    actor: &Actor,
    command: &Command,
    version: Version,
    reader: &mut ChannelReadHalf,
    writer: &Writer,
) -> Result<()> {
    let project = command.project().ok_or(Error::NotFound(Thing::Project))?;
    let opened = fetch::open(&context.app, actor, &project, command.service.action()).await?;
    let is = opened.project.full_path();
    if !is.eq_ignore_ascii_case(command.full_path()) {
        let address = (context.settings.url)(&is);
        say(context, writer, &format!("This project has moved. Its new address is {address}")).await;
    }
    let stream = tokio::io::join(reader.make_reader(), writer.make_writer());
    let (input, mut output) = tokio::io::split(Line::new(stream, context.settings.idle_timeout));
    let mut input = BufReader::with_capacity(BUFFER, input);
    match command.service {
        Service::UploadPack => upload_pack::serve(context, &opened, version, &mut input, &mut output).await,
        Service::ReceivePack => receive_pack::serve(context, actor, opened, &mut input, &mut output).await,
        Service::UploadArchive => upload_archive::serve(context, &opened, &mut input, &mut output).await,
    }
}

/// As fast as the client takes it, and no faster.
async fn copy(mut answer: Answer, output: &mut (impl AsyncWrite + Unpin)) -> Result<()> {
    while let Some(chunk) = answer.next().await {
        output.write_all(&chunk?).await?;
    }
    Ok(output.flush().await?)
}
