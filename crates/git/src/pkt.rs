//! The framing of git's protocol: packets with a length in front.

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    Flush,
    Delimiter,
    ResponseEnd,
    Data(Vec<u8>),
}

/// The most that fits into one packet.
pub const LARGEST: usize = 65_516;

/// The next packet; none at a clean end of input.
pub async fn read(input: &mut (impl AsyncRead + Unpin)) -> Result<Option<Packet>> {
    let mut length = [0; 4];
    let first = input.read(&mut length).await?;
    if first == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[first..]).await.map_err(broken)?;
    let digits = std::str::from_utf8(&length).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
    let length = digits.and_then(|text| usize::from_str_radix(text, 16).ok());
    match length.ok_or_else(|| Error::protocol("bad packet length"))? {
        0 => Ok(Some(Packet::Flush)),
        1 => Ok(Some(Packet::Delimiter)),
        2 => Ok(Some(Packet::ResponseEnd)),
        length if length >= 4 && length - 4 <= LARGEST => {
            let mut data = vec![0; length - 4];
            input.read_exact(&mut data).await.map_err(broken)?;
            Ok(Some(Packet::Data(data)))
        }
        _ => Err(Error::protocol("bad packet length")),
    }
}

fn broken(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::protocol("a packet breaks off"),
        _ => error.into(),
    }
}

/// The text of a line, without its line break.
pub fn line(data: &[u8]) -> &[u8] {
    data.strip_suffix(b"\n").unwrap_or(data)
}

/// Adds packets to a buffer.
pub trait Write {
    /// What is longer than a packet is cut.
    fn packet(&mut self, data: &[u8]);
    fn flush_packet(&mut self);
    fn delimiter_packet(&mut self);
}

impl Write for BytesMut {
    fn packet(&mut self, data: &[u8]) {
        let data = &data[..data.len().min(LARGEST)];
        self.put_slice(format!("{:04x}", data.len() + 4).as_bytes());
        self.put_slice(data);
    }

    fn flush_packet(&mut self) {
        self.put_slice(b"0000");
    }

    fn delimiter_packet(&mut self) {
        self.put_slice(b"0001");
    }
}

/// Streams within the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    Data = 1,
    Progress = 2,
}

pub async fn write_band(output: &mut (impl AsyncWrite + Unpin), band: Band, data: &[u8]) -> std::io::Result<()> {
    let mut buffer = BytesMut::new();
    for chunk in data.chunks(LARGEST - 1) {
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
    async fn reads_what_is_written() {
        let mut buffer = BytesMut::new();
        buffer.packet(b"hello\n");
        buffer.delimiter_packet();
        buffer.packet(b"");
        buffer.packet(&[7; 70_000]);
        buffer.flush_packet();
        let mut input = &buffer[..];
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Data(b"hello\n".to_vec())));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Delimiter));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Data(Vec::new())));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Data(vec![7; LARGEST])));
        assert_eq!(read(&mut input).await.unwrap(), Some(Packet::Flush));
        assert_eq!(read(&mut input).await.unwrap(), None);
    }

    #[tokio::test]
    async fn refuses_what_is_no_packet() {
        for bytes in [&b"zzzz"[..], b"+001", b"0003", b"fff1", b"00", b"0009abc"] {
            assert!(read(&mut &bytes[..]).await.is_err(), "{bytes:?}");
        }
    }
}
