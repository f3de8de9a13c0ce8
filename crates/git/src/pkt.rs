//! Reads and writes pkt-lines, the packets of git's protocol.

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Error, Result};

/// A pkt-line: data, or one of the special packets without data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    Flush,
    Delimiter,
    ResponseEnd,
    Data(Vec<u8>),
}

/// Maximum size of the payload of one packet.
pub const MAX_PAYLOAD_BYTES: usize = 65_516;

/// Reads the next packet. Returns None at the end of the input between two packets.
pub async fn read(input: &mut (impl AsyncRead + Unpin)) -> Result<Option<Packet>> {
    let mut length = [0; 4];
    let first = input.read(&mut length).await?;
    if first == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[first..]).await.map_err(malformed)?;
    let digits = std::str::from_utf8(&length).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
    let length = digits.and_then(|text| usize::from_str_radix(text, 16).ok());
    match length.ok_or_else(|| Error::protocol("invalid pkt-line length"))? {
        0 => Ok(Some(Packet::Flush)),
        1 => Ok(Some(Packet::Delimiter)),
        2 => Ok(Some(Packet::ResponseEnd)),
        length if length >= 4 && length - 4 <= MAX_PAYLOAD_BYTES => {
            let mut data = vec![0; length - 4];
            input.read_exact(&mut data).await.map_err(malformed)?;
            Ok(Some(Packet::Data(data)))
        }
        _ => Err(Error::protocol("invalid pkt-line length")),
    }
}

fn malformed(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::protocol("the stream ended within a pkt-line"),
        _ => error.into(),
    }
}

/// Returns the text of a packet without its newline.
pub fn strip_newline(data: &[u8]) -> &[u8] {
    data.strip_suffix(b"\n").unwrap_or(data)
}

/// Appends packets to a buffer.
pub trait PacketWriter {
    /// Appends a data packet. Data that exceeds [`MAX_PAYLOAD_BYTES`] is truncated.
    fn put_packet(&mut self, data: &[u8]);
    fn put_flush(&mut self);
    fn put_delimiter(&mut self);
}

impl PacketWriter for BytesMut {
    fn put_packet(&mut self, data: &[u8]) {
        let data = &data[..data.len().min(MAX_PAYLOAD_BYTES)];
        self.put_slice(format!("{:04x}", data.len() + 4).as_bytes());
        self.put_slice(data);
    }

    fn put_flush(&mut self) {
        self.put_slice(b"0000");
    }

    fn put_delimiter(&mut self) {
        self.put_slice(b"0001");
    }
}

/// The streams that are multiplexed in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sideband {
    Data = 1,
    Progress = 2,
}

/// Writes data to a sideband, divided into as many packets as needed.
pub async fn write_sideband(
    output: &mut (impl AsyncWrite + Unpin),
    band: Sideband,
    data: &[u8],
) -> std::io::Result<()> {
    let mut buffer = BytesMut::new();
    for chunk in data.chunks(MAX_PAYLOAD_BYTES - 1) {
        buffer.put_slice(format!("{:04x}", chunk.len() + 5).as_bytes());
        buffer.put_u8(band as u8);
        buffer.put_slice(chunk);
    }
    output.write_all(&buffer).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn packets_round_trip() {
        let mut buffer = BytesMut::new();
        buffer.put_packet(b"hello\n");
        buffer.put_delimiter();
        buffer.put_packet(b"");
        buffer.put_packet(&[7; 70_000]);
        buffer.put_flush();
        let mut input = &buffer[..];
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Data(b"hello\n".to_vec())));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Delimiter));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Data(Vec::new())));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Data(vec![7; MAX_PAYLOAD_BYTES])));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Flush));
        assert_eq!(read(&mut input).await.unwrap(), None);
    }

    #[tokio::test]
    async fn malformed_packets_are_rejected() {
        for bytes in [&b"zzzz"[..], b"+001", b"0003", b"fff1", b"00", b"0009abc"] {
            assert!(read(&mut &bytes[..]).await.is_err(), "{bytes:?}");
        }
    }
}
