use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::*;

const SMALL: PackLimits = PackLimits { max_pack_bytes: 1 << 20, max_object_bytes: 1000, max_inflated_bytes: 5000 };

fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn entry_header(kind: u8, size: u64) -> Vec<u8> {
    let (mut byte, mut rest) = (kind << 4 | (size & 15) as u8, size >> 4);
    let mut header = Vec::new();
    while rest > 0 {
        header.push(byte | 0x80);
        (byte, rest) = ((rest & 0x7f) as u8, rest >> 7);
    }
    header.push(byte);
    header
}

fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn blob(data: &[u8]) -> Vec<u8> {
    [entry_header(3, data.len() as u64), deflated(data)].concat()
}

/// Returns a delta whose header states this size of the result.
fn delta(kind: u8, result: u64) -> Vec<u8> {
    let data = [number(10), number(result), vec![0x90, 10]].concat();
    let base = if kind == REF_DELTA { vec![7; 20] } else { vec![0x81, 0x05] };
    [entry_header(kind, data.len() as u64), base, deflated(&data)].concat()
}

fn pack(entries: &[Vec<u8>]) -> Vec<u8> {
    let count = (entries.len() as u32).to_be_bytes();
    [b"PACK\0\0\0\x02", &count[..], &entries.concat(), &[9; 20]].concat()
}

fn scan(pack: &[u8], piece: usize) -> Result<u32> {
    let mut scanner = PackScanner::new(SMALL);
    pack.chunks(piece).try_for_each(|piece| scanner.scan(piece))?;
    let is_whole = matches!(scanner.state, State::End);
    assert!(is_whole, "{:?}", scanner.state);
    Ok(scanner.objects())
}

fn refusal(entries: &[Vec<u8>]) -> String {
    scan(&pack(entries), 1000).unwrap_err().to_string()
}

#[test]
fn valid_packs_are_accepted_in_any_chunk_size() {
    let entries = [blob(b"hello"), blob(b""), delta(REF_DELTA, 10), delta(OFS_DELTA, 10), blob(&[7; 1000])];
    for piece in [1, 2, 3, 7, 1000] {
        assert_eq!(scan(&pack(&entries), piece).unwrap(), 5);
    }
    assert_eq!(scan(&pack(&[]), 5).unwrap(), 0);
}

#[test]
fn large_objects_are_rejected_by_header_size() {
    let says = |text: String| assert!(text.contains("is larger than this server accepts (1000 bytes)"), "{text}");
    says(refusal(&[blob(&[0; 1001])]));
    // The header is enough: the compressed data has not arrived yet.
    says(refusal(&[entry_header(3, 1001)]));
    says(refusal(&[entry_header(REF_DELTA, 2001)]));
    says(refusal(&[delta(OFS_DELTA, 1001)]));
    says(refusal(&[delta(REF_DELTA, u64::MAX)]));
}

#[test]
fn packs_with_excessive_inflated_size_are_rejected() {
    let limits = PackLimits { max_object_bytes: 1 << 20, max_inflated_bytes: 3 << 20, ..SMALL };
    let scan = |entries: &[Vec<u8>]| PackScanner::new(limits).scan(&pack(entries));
    let zeros = blob(&vec![0; 1 << 20]);
    scan(&vec![zeros.clone(); 3]).unwrap();
    // Zeros are compressed by a ratio of about a thousand to one.
    let text = scan(&vec![zeros.clone(); 5]).unwrap_err().to_string();
    assert!(text.contains("unpacks to more than") && text.contains("git.max_inflated_bytes"), "{text}");
    // The allowance grows with the size of the pack, so ordinary data may inflate to more.
    let noise: Vec<u8> = (0..1_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    scan(&vec![blob(&noise); 5]).unwrap();
}

#[test]
fn damaged_packs_are_rejected() {
    for (entry, says) in [
        (entry_header(0, 1), "has an unknown type"),
        (entry_header(5, 1), "has an unknown type"),
        (vec![0xff; 12], "the size of an entry is malformed"),
        ([entry_header(OFS_DELTA, 3), vec![0xff; 12]].concat(), "the offset of a delta is malformed"),
        ([entry_header(3, 4), deflated(b"hello")].concat(), "larger than its header says"),
        ([entry_header(3, 6), deflated(b"hello")].concat(), "smaller than its header says"),
        ([entry_header(3, 5), b"no zlib".to_vec()].concat(), "cannot be inflated"),
        ([entry_header(REF_DELTA, 1), vec![7; 20], deflated(b"\xff")].concat(), "the header of a delta is malformed"),
    ] {
        let text = refusal(&[entry]);
        assert!(text.contains(says), "{text}");
    }
}

proptest! {
    /// Arbitrary input is scanned to its end or rejected, with the same result in chunks and as a whole.
    #[test]
    fn arbitrary_input_scans_alike_in_chunks_and_whole(entries: Vec<u8>, objects: u8, piece in 1_usize..50) {
        let pack = [b"PACK\0\0\0\x02\0\0\0", &[objects][..], &entries].concat();
        let outcome = |piece| {
            let mut scanner = PackScanner::new(SMALL);
            pack.chunks(piece).try_for_each(|piece| scanner.scan(piece)).map_err(|error| error.to_string())
        };
        let (parts, whole) = (outcome(piece), outcome(pack.len()));
        prop_assert_eq!(parts.is_ok(), whole.is_ok());
    }
}
