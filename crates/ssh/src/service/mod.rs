//! Git services over SSH. Each submodule connects one service to the use case behind it.

mod receive_pack;
mod upload_archive;
mod upload_pack;

use futures_util::StreamExt;
use holdfast_app::repository::open_repository::open_repository;
use holdfast_app::repository::transfer::fetch::ResponseStream;
use holdfast_app::{Actor, Error, Resource, Result};
use holdfast_git::protocol::Version;
use russh::ChannelReadHalf;
use tokio::io::{AsyncWrite, AsyncWriteExt, BufReader};

use crate::Context;
use crate::command::{Command, Service};
use crate::idle_timeout::IdleTimeoutStream;
use crate::stderr::{Writer, write_stderr};

const BUFFER_SIZE: usize = 64 << 10;

/// Authorizes a command and serves it over the channel that sent it.
pub async fn serve(
    context: &Context,
    actor: &Actor,
    command: &Command,
    version: Version,
    reader: &mut ChannelReadHalf,
    writer: &Writer,
) -> Result<()> {
    let project = command.project().ok_or(Error::NotFound(Resource::Project))?;
    let repository = open_repository(&context.app, actor, &project, command.service.action()).await?;
    let full_path = repository.project.full_path();
    if !full_path.eq_ignore_ascii_case(command.full_path()) {
        let url = (context.settings.project_url)(&full_path);
        write_stderr(context, writer, &format!("This project has moved. Its new address is {url}")).await;
    }
    let stream = tokio::io::join(reader.make_reader(), writer.make_writer());
    let (input, mut output) = tokio::io::split(IdleTimeoutStream::new(stream, context.settings.idle_timeout));
    let mut input = BufReader::with_capacity(BUFFER_SIZE, input);
    match command.service {
        Service::UploadPack => upload_pack::serve(context, &repository, version, &mut input, &mut output).await,
        Service::ReceivePack => receive_pack::serve(context, actor, repository, &mut input, &mut output).await,
        Service::UploadArchive => upload_archive::serve(context, &repository, &mut input, &mut output).await,
    }
}

/// Copies a response to the client, at the rate at which the client reads it.
async fn copy_content(mut content: ResponseStream, output: &mut (impl AsyncWrite + Unpin)) -> Result<()> {
    while let Some(chunk) = content.next().await {
        output.write_all(&chunk?).await?;
    }
    Ok(output.flush().await?)
}
