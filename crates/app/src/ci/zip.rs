//! Reads the list of files at the end of a zip archive. Archives are made by builds and are not trusted.

/// Maximum size of the end of an archive with the record that tells where its list of files is.
pub const MAX_END_BYTES: u64 = 22 + 20 + 56 + (u16::MAX as u64);
/// Size of the fixed part of the header before the content of a file.
pub const LOCAL_HEADER_BYTES: u64 = 30;
/// The value of a field whose content is in an extra field.
const IN_EXTRA_FIELD: u64 = u32::MAX as u64;

/// Where the list of files is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListPosition {
    pub start: u64,
    pub bytes: u64,
    pub entries: u64,
}

/// A file or a directory in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipEntry {
    /// The path as the archive has it. Bytes that are not UTF-8 are replaced.
    pub path: String,
    pub compression: Compression,
    pub compressed_bytes: u64,
    pub bytes: u64,
    /// The offset of the header before the content.
    pub header_start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Deflate,
    /// Encrypted, or a method that is not supported.
    Unknown,
}

/// Finds the list of files by the end of an archive. Returns None if it is not an archive.
pub fn find_list(end: &[u8], archive_bytes: u64) -> Option<ListPosition> {
    let is_record = |at: &usize| {
        let comment = number::<2>(end, at + 20).and_then(|length| usize::try_from(length).ok());
        end.get(*at..at + 4) == Some(b"PK\x05\x06") && comment.is_some_and(|length| at + 22 + length == end.len())
    };
    let record = (0..end.len().checked_sub(21)?).rev().find(is_record)?;
    let position = ListPosition {
        entries: number::<2>(end, record + 10)?,
        bytes: number::<4>(end, record + 12)?,
        start: number::<4>(end, record + 16)?,
    };
    let is_large =
        position.entries == u64::from(u16::MAX) || position.bytes == IN_EXTRA_FIELD || position.start == IN_EXTRA_FIELD;
    let position = if is_large { find_large_list(end, record, archive_bytes)? } else { position };
    let list_end = position.start.checked_add(position.bytes)?;
    (list_end <= archive_bytes).then_some(position)
}

/// Reads the record of an archive of more than 4 GiB or 65,535 files.
fn find_large_list(end: &[u8], record: usize, archive_bytes: u64) -> Option<ListPosition> {
    let locator = record.checked_sub(20)?;
    if end.get(locator..locator + 4) != Some(b"PK\x06\x07") {
        return None;
    }
    let end_start = archive_bytes.checked_sub(u64::try_from(end.len()).ok()?)?;
    let at = usize::try_from(number::<8>(end, locator + 8)?.checked_sub(end_start)?).ok()?;
    if end.get(at..at.checked_add(4)?) != Some(b"PK\x06\x06") {
        return None;
    }
    Some(ListPosition {
        entries: number::<8>(end, at + 32)?,
        bytes: number::<8>(end, at + 40)?,
        start: number::<8>(end, at + 48)?,
    })
}

/// Reads the entries of a list of files. Returns None if it is malformed.
pub fn read_list(list: &[u8], max_entries: usize) -> Option<Vec<ZipEntry>> {
    let mut entries = Vec::new();
    let mut at = 0;
    while list.get(at..at + 4) == Some(b"PK\x01\x02") && entries.len() < max_entries {
        let length = |offset| number::<2>(list, at + offset).and_then(|length| usize::try_from(length).ok());
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let path = String::from_utf8_lossy(list.get(at + 46..at + 46 + name)?).into_owned();
        let extra_field = list.get(at + 46 + name..at + 46 + name + extra)?;
        let mut large = LargeNumbers::find(extra_field);
        let is_encrypted = number::<2>(list, at + 8)? & 1 == 1;
        let compression = match number::<2>(list, at + 10)? {
            _ if is_encrypted => Compression::Unknown,
            0 => Compression::None,
            8 => Compression::Deflate,
            _ => Compression::Unknown,
        };
        // The large numbers are in this order.
        let bytes = large.replace(number::<4>(list, at + 24)?)?;
        let compressed_bytes = large.replace(number::<4>(list, at + 20)?)?;
        let header_start = large.replace(number::<4>(list, at + 42)?)?;
        entries.push(ZipEntry { path, compression, compressed_bytes, bytes, header_start });
        at += 46 + name + extra + comment;
    }
    Some(entries)
}

/// The numbers of an entry that do not fit into 32 bits.
struct LargeNumbers<'a>(&'a [u8]);

impl<'a> LargeNumbers<'a> {
    fn find(mut extra: &'a [u8]) -> Self {
        while let (Some(id), Some(length)) = (number::<2>(extra, 0), number::<2>(extra, 2)) {
            let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(4);
            let Some(field) = extra.get(4..end) else { break };
            if id == 1 {
                return Self(field);
            }
            extra = extra.get(end..).unwrap_or_default();
        }
        Self(&[])
    }

    /// Returns a number, or the next large number if it is there instead.
    fn replace(&mut self, small: u64) -> Option<u64> {
        if small != IN_EXTRA_FIELD {
            return Some(small);
        }
        let large = number::<8>(self.0, 0)?;
        self.0 = self.0.get(8..).unwrap_or_default();
        Some(large)
    }
}

/// Returns the length of the header before the content of a file.
pub fn local_header_bytes(header: &[u8]) -> Option<u64> {
    if header.get(..4) != Some(b"PK\x03\x04") {
        return None;
    }
    Some(LOCAL_HEADER_BYTES + number::<2>(header, 26)? + number::<2>(header, 28)?)
}

/// Reads a little-endian number of N bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(N)?)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_archives_have_no_list() {
        for end in [&b""[..], b"PK\x05\x06", &[0; 100], b"not an archive at all, but long enough"] {
            assert_eq!(find_list(end, 1_000), None);
        }
        assert_eq!(read_list(b"PK\x01\x02short", 10), None);
        assert_eq!(read_list(b"", 10), Some(Vec::new()));
    }

    #[test]
    fn a_list_outside_of_the_archive_is_refused() {
        let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
        end.extend(100_u32.to_le_bytes());
        end.extend(50_u32.to_le_bytes());
        end.extend([0, 0]);
        assert_eq!(find_list(&end, 122), None);
        assert_eq!(find_list(&end, 172), Some(ListPosition { start: 50, bytes: 100, entries: 1 }));
    }

    #[test]
    fn large_numbers_are_in_an_extra_field() {
        let extra = [&[9, 0, 1, 0, 7][..], &[1, 0, 8, 0], &5_000_000_000_u64.to_le_bytes()].concat();
        let mut large = LargeNumbers::find(&extra);
        assert_eq!(large.replace(7), Some(7));
        assert_eq!(large.replace(IN_EXTRA_FIELD), Some(5_000_000_000));
        assert_eq!(large.replace(IN_EXTRA_FIELD), None);
    }
}
