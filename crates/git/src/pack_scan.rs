//! Scans a pack before git reads it, and rejects it if an object is too large.
//!
//! `git index-pack` limits the bytes it reads, not the bytes they inflate to: a pack of one megabyte can hold
//! gigabytes. The header of an entry states the size of its object, and a delta begins with the size of its result, so
//! both are known before git allocates memory for them.
//!
//! - No byte is passed to git before it has been scanned.
//! - Data that cannot be parsed is an error, because git might parse it differently.
//! - The size of a delta's result is not verified here: git compares it with the result.

use std::io::Read;
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};

use crate::{Error, Result};

/// Size limits of one pack and its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackLimits {
    /// Maximum size of the pack as it is sent.
    pub max_pack_bytes: u64,
    /// Maximum size of one inflated object.
    pub max_object_bytes: u64,
    /// Maximum size of all inflated objects of a small pack. A pack may inflate to `MAX_RATIO` times its own size more
    /// than this.
    pub max_inflated_bytes: u64,
}

/// Maximum number of inflated bytes per byte of the pack. The history of Linux has a ratio of about fifty.
const MAX_RATIO: u64 = 100;

/// The length of an object id, which names the base of a delta.
const ID_BYTES: u8 = 20;
const HEADER_BYTES: usize = 12;
/// A delta begins with two numbers of at most ten bytes each.
const DELTA_HEADER_BYTES: usize = 20;
const OUTPUT_BYTES: usize = 64 << 10;

const OFS_DELTA: u8 = 6;
const REF_DELTA: u8 = 7;

#[derive(Debug)]
enum State {
    /// Within the header of the pack, with the bytes read so far.
    Header(Vec<u8>),
    /// Before the header of an entry.
    Entry,
    /// Within the size of an entry.
    Size { kind: u8, size: u64, shift: u32 },
    /// Within the offset of a delta's base, after this many bytes of it.
    Distance { size: u64, bytes: u8 },
    /// Within the id of a delta's base, of which this many bytes are missing.
    Base { size: u64, missing: u8 },
    /// Within compressed data. The beginning of a delta is collected until it contains the size of the result.
    Data { size: u64, inflated: u64, delta: Option<Vec<u8>> },
    /// After the last entry, or in a stream that is no pack or has no entries. The rest is not scanned.
    End,
}

/// An incremental scanner for one pack.
pub struct PackScanner {
    limits: PackLimits,
    state: State,
    decompress: Decompress,
    output: Box<[u8]>,
    /// Number of objects that the header announces.
    objects: u32,
    remaining_entries: u32,
    read_bytes: u64,
    inflated: u64,
}

impl PackScanner {
    pub fn new(limits: PackLimits) -> Self {
        Self {
            limits,
            state: State::Header(Vec::with_capacity(HEADER_BYTES)),
            decompress: Decompress::new(true),
            output: vec![0; OUTPUT_BYTES].into(),
            objects: 0,
            remaining_entries: 0,
            read_bytes: 0,
            inflated: 0,
        }
    }

    /// Returns the number of objects that the pack announces, or 0 before its header has been read.
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// Scans the next bytes of the pack. Inflates them, so the caller must use a blocking thread.
    pub fn scan(&mut self, mut input: &[u8]) -> Result<()> {
        while !input.is_empty() && !matches!(self.state, State::End) {
            let rest = match &mut self.state {
                State::Data { .. } => self.inflate(input)?,
                _ => {
                    let (byte, rest) = (input[0], &input[1..]);
                    self.read_byte(byte)?;
                    rest
                }
            };
            self.read_bytes += (input.len() - rest.len()) as u64;
            input = rest;
        }
        Ok(())
    }

    /// Reads one byte outside of compressed data.
    fn read_byte(&mut self, byte: u8) -> Result<()> {
        match &mut self.state {
            State::Header(header) => {
                header.push(byte);
                if header.len() == HEADER_BYTES {
                    self.objects = header[8..].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
                    self.remaining_entries = self.objects;
                    // Git rejects a stream that is no pack, with a better message, and reads no further.
                    let is_pack = header.starts_with(b"PACK\0\0\0") && matches!(header[7], 2 | 3);
                    self.state = if is_pack && self.objects > 0 { State::Entry } else { State::End };
                }
            }
            State::Entry => {
                let (kind, size) = (byte >> 4 & 7, u64::from(byte & 15));
                self.continue_size(byte, kind, size, 4)?;
            }
            State::Size { kind, size, shift } => {
                let (kind, shift) = (*kind, *shift);
                let size = *size | size_bits(byte, shift)?;
                self.continue_size(byte, kind, size, shift + 7)?;
            }
            State::Distance { size, bytes } => {
                *bytes += 1;
                match byte & 0x80 == 0 {
                    true => self.state = data_state(*size, true),
                    false if *bytes >= 10 => return Err(damaged("the offset of a delta is malformed")),
                    false => {}
                }
            }
            State::Base { size, missing } => {
                *missing -= 1;
                if *missing == 0 {
                    self.state = data_state(*size, true);
                }
            }
            State::Data { .. } | State::End => {
                unreachable!("compressed data is consumed in slices, never byte by byte")
            }
        }
        Ok(())
    }

    fn continue_size(&mut self, byte: u8, kind: u8, size: u64, shift: u32) -> Result<()> {
        if byte & 0x80 != 0 {
            self.state = State::Size { kind, size, shift };
            return Ok(());
        }
        self.state = match kind {
            1..=4 => {
                self.add_object_size(size)?;
                data_state(size, false)
            }
            // A delta that inserts its whole result is slightly larger than the result.
            OFS_DELTA | REF_DELTA if size > self.limits.max_object_bytes.saturating_mul(2) => {
                return Err(self.too_large(size));
            }
            OFS_DELTA => State::Distance { size, bytes: 0 },
            REF_DELTA => State::Base { size, missing: ID_BYTES },
            _ => return Err(damaged("an entry has an unknown type")),
        };
        Ok(())
    }

    /// Inflates the input up to the end of the current entry and returns the rest of the input.
    fn inflate<'a>(&mut self, input: &'a [u8]) -> Result<&'a [u8]> {
        let mut rest = input;
        loop {
            let State::Data { size, inflated, delta } = &mut self.state else { return Ok(rest) };
            let before = (self.decompress.total_in(), self.decompress.total_out());
            let status = self.decompress.decompress(rest, &mut self.output, FlushDecompress::None);
            let status = status.map_err(|_| damaged("an object cannot be inflated"))?;
            let consumed = (self.decompress.total_in() - before.0) as usize;
            let produced = (self.decompress.total_out() - before.1) as usize;
            rest = &rest[consumed..];
            *inflated += produced as u64;
            let (size, inflated) = (*size, *inflated);
            if inflated > size {
                return Err(damaged("an object is larger than its header says"));
            }
            let is_end = status == Status::StreamEnd;
            if let Some(beginning) = delta {
                beginning.extend(self.output[..produced].iter().take(DELTA_HEADER_BYTES - beginning.len()));
                if is_end || beginning.len() == DELTA_HEADER_BYTES {
                    let result = result_size(beginning)?;
                    *delta = None;
                    self.add_object_size(result)?;
                }
            }
            if is_end {
                if inflated < size {
                    return Err(damaged("an object is smaller than its header says"));
                }
                self.decompress.reset(true);
                self.remaining_entries -= 1;
                self.state = if self.remaining_entries == 0 { State::End } else { State::Entry };
                return Ok(rest);
            }
            if rest.is_empty() && produced < self.output.len() {
                return Ok(rest);
            }
            if consumed == 0 && produced == 0 {
                return Err(damaged("an object cannot be inflated"));
            }
        }
    }

    fn add_object_size(&mut self, size: u64) -> Result<()> {
        if size > self.limits.max_object_bytes {
            return Err(self.too_large(size));
        }
        self.inflated = self.inflated.saturating_add(size);
        let allowed = self.limits.max_inflated_bytes.saturating_add(self.read_bytes.saturating_mul(MAX_RATIO));
        if self.inflated > allowed {
            let text = format!(
                "the pack unpacks to more than {allowed} bytes, which is more than this server accepts from a pack of its \
                 size. Push the history in several steps, or ask an administrator to raise git.max_inflated_bytes"
            );
            return Err(Error::protocol(text));
        }
        Ok(())
    }

    fn too_large(&self, size: u64) -> Error {
        let limit = self.limits.max_object_bytes;
        Error::protocol(format!(
            "an object of {size} bytes is larger than this server accepts ({limit} bytes). Remove the file from the \
             history, or ask an administrator to raise git.max_object_bytes"
        ))
    }
}

/// Scans a pack on disk. Reads and inflates all of it, so the caller must use a blocking thread.
pub fn scan_file(path: &Path, limits: PackLimits) -> Result<()> {
    let (mut scanner, mut buffer) = (PackScanner::new(limits), vec![0; OUTPUT_BYTES]);
    let mut file = std::fs::File::open(path)?;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            count => scanner.scan(&buffer[..count])?,
        }
    }
}

fn data_state(size: u64, is_delta: bool) -> State {
    State::Data { size, inflated: 0, delta: is_delta.then(|| Vec::with_capacity(DELTA_HEADER_BYTES)) }
}

fn damaged(what: &str) -> Error {
    Error::protocol(format!("the pack is damaged: {what}"))
}

/// Returns the bits of a number that one byte carries. Rejects numbers that exceed 64 bits, which git lets overflow.
fn size_bits(byte: u8, shift: u32) -> Result<u64> {
    let part = u64::from(byte & 0x7f);
    let value = part.checked_shl(shift).filter(|value| value >> shift == part);
    value.ok_or_else(|| damaged("the size of an entry is malformed"))
}

/// Returns the size of a delta's result, which is the second number of its header.
fn result_size(delta: &[u8]) -> Result<u64> {
    let mut bytes = delta.iter();
    let mut number = || {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = *bytes.next().ok_or_else(|| damaged("the header of a delta is malformed"))?;
            value |= size_bits(byte, shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
    };
    number()?;
    number()
}

#[cfg(test)]
mod tests;
