//! Reads a pack before git does, and stops it where an object is too large.
//!
//! `git index-pack` limits the bytes it reads, not what they unpack to: a pack of a megabyte can hold gigabytes. The header
//! of an entry names the size of its object, and a delta begins with the size of its result, so both are known before
//! anybody allocates memory for them.
//!
//! - No byte reaches git before it was scanned.
//! - What cannot be parsed is an error: git might read it differently.
//! - Sizes that are not true are found by git, which compares them with what it unpacks.

use std::io::Read;
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};

use crate::{Error, Result};

/// What one pack and its objects may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackLimits {
    /// Maximum size of the pack as it is sent.
    pub max_pack_bytes: u64,
    /// Maximum size of one object, unpacked.
    pub max_object_bytes: u64,
    /// Maximum size of all objects of a small pack, unpacked. A larger pack may unpack to [`MAX_RATIO`] times its size on top
    /// of it.
    pub max_inflated_bytes: u64,
}

/// How many bytes of objects a pack may hold for each of its own. The history of Linux has some fifty.
const MAX_RATIO: u64 = 100;

/// Length of the checksum that ends a pack, and of the id of a delta's base.
const ID_BYTES: u8 = 20;
const HEADER_BYTES: usize = 12;
/// A delta begins with two numbers of at most ten bytes each.
const DELTA_HEADER_BYTES: usize = 20;
const OUTPUT_BYTES: usize = 64 << 10;

const OFS_DELTA: u8 = 6;
const REF_DELTA: u8 = 7;

#[derive(Debug)]
enum State {
    /// The bytes of the pack's header that have come.
    Header(Vec<u8>),
    /// Between two entries.
    Entry,
    /// In the size of an entry.
    Size { kind: u8, size: u64, shift: u32 },
    /// In the distance to a delta's base, of which so many bytes have come.
    Distance { size: u64, bytes: u8 },
    /// In the id of a delta's base, of which so many bytes are missing.
    Base { size: u64, missing: u8 },
    /// In the compressed data. Of a delta, its beginning is kept until it says how large the result is.
    Data { size: u64, inflated: u64, delta: Option<Vec<u8>> },
    /// Behind the last entry; what follows is git's affair.
    End,
}

/// Reads one pack, piece by piece.
pub struct PackScanner {
    limits: PackLimits,
    state: State,
    decompress: Decompress,
    output: Box<[u8]>,
    /// Number of objects that the header announces.
    objects: u32,
    missing_entries: u32,
    read: u64,
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
            missing_entries: 0,
            read: 0,
            inflated: 0,
        }
    }

    /// Returns how many objects the pack announces: 0 until its header has come.
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// Scans the next bytes of the pack. Computes for a while, so not on a thread that others wait for.
    pub fn scan(&mut self, mut input: &[u8]) -> Result<()> {
        while !input.is_empty() && !matches!(self.state, State::End) {
            let rest = match &mut self.state {
                State::Data { .. } => self.inflate(input)?,
                _ => {
                    let (byte, rest) = (input[0], &input[1..]);
                    self.take(byte)?;
                    rest
                }
            };
            self.read += (input.len() - rest.len()) as u64;
            input = rest;
        }
        Ok(())
    }

    /// Takes one byte of what stands between compressed data.
    fn take(&mut self, byte: u8) -> Result<()> {
        match &mut self.state {
            State::Header(header) => {
                header.push(byte);
                if header.len() == HEADER_BYTES {
                    self.objects = header[8..].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
                    self.missing_entries = self.objects;
                    // Git says best what it takes for a pack, and reads no further if this is none.
                    let is_pack = header.starts_with(b"PACK\0\0\0") && matches!(header[7], 2 | 3);
                    self.state = if is_pack && self.objects > 0 { State::Entry } else { State::End };
                }
            }
            State::Entry => {
                let (kind, size) = (byte >> 4 & 7, u64::from(byte & 15));
                self.go_on_with_size(byte, kind, size, 4)?;
            }
            State::Size { kind, size, shift } => {
                let (kind, shift) = (*kind, *shift);
                let size = *size | shifted(byte, shift)?;
                self.go_on_with_size(byte, kind, size, shift + 7)?;
            }
            State::Distance { size, bytes } => {
                *bytes += 1;
                match byte & 0x80 == 0 {
                    true => self.state = data(*size, true),
                    false if *bytes >= 10 => return Err(damaged("a distance has no end")),
                    false => {}
                }
            }
            State::Base { size, missing } => {
                *missing -= 1;
                if *missing == 0 {
                    self.state = data(*size, true);
                }
            }
            State::Data { .. } | State::End => unreachable!("compressed data is not taken byte by byte"),
        }
        Ok(())
    }

    fn go_on_with_size(&mut self, byte: u8, kind: u8, size: u64, shift: u32) -> Result<()> {
        if byte & 0x80 != 0 {
            self.state = State::Size { kind, size, shift };
            return Ok(());
        }
        self.state = match kind {
            1..=4 => {
                self.count(size)?;
                data(size, false)
            }
            // A delta that inserts all of its result is a little larger than that.
            OFS_DELTA | REF_DELTA if size > self.limits.max_object_bytes.saturating_mul(2) => {
                return Err(self.too_large(size));
            }
            OFS_DELTA => State::Distance { size, bytes: 0 },
            REF_DELTA => State::Base { size, missing: ID_BYTES },
            _ => return Err(damaged("an entry is of no known type")),
        };
        Ok(())
    }

    /// Inflates as much as there is of the current entry, and returns what follows it.
    fn inflate<'a>(&mut self, input: &'a [u8]) -> Result<&'a [u8]> {
        let mut rest = input;
        loop {
            let State::Data { size, inflated, delta } = &mut self.state else { return Ok(rest) };
            let before = (self.decompress.total_in(), self.decompress.total_out());
            let status = self.decompress.decompress(rest, &mut self.output, FlushDecompress::None);
            let status = status.map_err(|_| damaged("an object cannot be inflated"))?;
            let consumed = (self.decompress.total_in() - before.0) as usize;
            let made = (self.decompress.total_out() - before.1) as usize;
            rest = &rest[consumed..];
            *inflated += made as u64;
            let (size, inflated) = (*size, *inflated);
            if inflated > size {
                return Err(damaged("an object is larger than its header says"));
            }
            let is_end = status == Status::StreamEnd;
            if let Some(beginning) = delta {
                beginning.extend(self.output[..made].iter().take(DELTA_HEADER_BYTES - beginning.len()));
                if is_end || beginning.len() == DELTA_HEADER_BYTES {
                    let result = result_size(beginning)?;
                    *delta = None;
                    self.count(result)?;
                }
            }
            if is_end {
                if inflated < size {
                    return Err(damaged("an object is smaller than its header says"));
                }
                self.decompress.reset(true);
                self.missing_entries -= 1;
                self.state = if self.missing_entries == 0 { State::End } else { State::Entry };
                return Ok(rest);
            }
            if rest.is_empty() && made < self.output.len() {
                return Ok(rest);
            }
            if consumed == 0 && made == 0 {
                return Err(damaged("an object cannot be inflated"));
            }
        }
    }

    fn count(&mut self, size: u64) -> Result<()> {
        if size > self.limits.max_object_bytes {
            return Err(self.too_large(size));
        }
        self.inflated = self.inflated.saturating_add(size);
        let allowed = self.limits.max_inflated_bytes.saturating_add(self.read.saturating_mul(MAX_RATIO));
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

/// Scans a pack that is on the disk. Reads all of it, so not on a thread that others wait for.
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

fn data(size: u64, is_delta: bool) -> State {
    State::Data { size, inflated: 0, delta: is_delta.then(|| Vec::with_capacity(DELTA_HEADER_BYTES)) }
}

fn damaged(what: &str) -> Error {
    Error::protocol(format!("the pack is damaged: {what}"))
}

/// Returns the part of a number that a byte carries. Numbers that do not fit 64 bits are refused: git lets them overflow.
fn shifted(byte: u8, shift: u32) -> Result<u64> {
    let part = u64::from(byte & 0x7f);
    let value = part.checked_shl(shift).filter(|value| value >> shift == part);
    value.ok_or_else(|| damaged("a size has no end"))
}

/// Returns the size of a delta's result: the second number in it.
fn result_size(delta: &[u8]) -> Result<u64> {
    let mut bytes = delta.iter();
    let mut number = || {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = *bytes.next().ok_or_else(|| damaged("a delta has no beginning"))?;
            value |= shifted(byte, shift)?;
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
