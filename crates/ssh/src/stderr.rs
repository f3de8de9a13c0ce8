//! The client's standard error, which git shows to the user.

use russh::ChannelWriteHalf;
use russh::server::Msg;
use tokio::time::timeout;

use crate::Context;

/// The write half of a channel.
pub type Writer = ChannelWriteHalf<Msg>;

/// The type of extended data for standard error in RFC 4254, section 5.2.
const EXTENDED_DATA_STDERR: u32 = 1;

/// Writes a line to the client's standard error.
pub async fn write_stderr(context: &Context, writer: &Writer, text: &str) {
    let line = format!("{text}\n");
    timeout(context.settings.idle_timeout, writer.extended_data_bytes(EXTENDED_DATA_STDERR, line)).await.ok();
}
