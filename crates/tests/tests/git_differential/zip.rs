//! Reads the archives of `git archive --format=zip`.

use tokio::process::Command;

use crate::archives::Item;
use crate::local::run;

fn number(bytes: &[u8], at: usize, count: usize) -> usize {
    bytes[at..at + count].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

pub async fn items(archive: &[u8]) -> Vec<Item> {
    let end = archive.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").unwrap();
    let count = number(archive, end + 10, 2);
    let mut at = number(archive, end + 16, 4);
    let mut items = Vec::new();
    let mut members = Vec::new();
    let mut sizes = Vec::new();
    for _ in 0..count {
        let entry = &archive[at..];
        assert!(entry.starts_with(b"PK\x01\x02"), "no entry at {at}");
        let [name, extra, comment] = [28, 30, 32].map(|at| number(entry, at, 2));
        let path = entry[46..46 + name].to_vec();
        // git writes a Unix mode only if it is not the default one.
        let mode = (number(entry, 38, 4) >> 16) as u32;
        let kind = match mode >> 12 {
            0o12 => "link",
            _ if path.ends_with(b"/") => "directory",
            _ => "file",
        };
        let (packed, size) = (number(entry, 20, 4), number(entry, 24, 4));
        let local = &archive[number(entry, 42, 4)..];
        let begin = 30 + number(local, 26, 2) + number(local, 28, 2);
        members.extend(member(number(entry, 10, 2), &local[begin..begin + packed], &entry[16..20], size));
        sizes.push(size);
        items.push(Item { path, mode, kind, content: Vec::new() });
        at += 46 + name + extra + comment;
    }
    let mut command = Command::new("gzip");
    command.arg("-dc");
    let contents = if members.is_empty() { Vec::new() } else { run(command, members).await.unwrap() };
    let mut rest = &contents[..];
    for (item, size) in items.iter_mut().zip(sizes) {
        let (content, next) = rest.split_at(size);
        item.content = content.to_vec();
        rest = next;
    }
    items
}

/// Returns a zip member as a gzip file. Both formats use DEFLATE, and the gzip program verifies the checksum.
fn member(method: usize, packed: &[u8], sum: &[u8], size: usize) -> Vec<u8> {
    let stored;
    let packed = match method {
        8 => packed,
        0 => {
            stored = store(packed);
            &stored
        }
        _ => panic!("a method that git does not use: {method}"),
    };
    [b"\x1f\x8b\x08\0\0\0\0\0\0\x03", packed, sum, &(size as u32).to_le_bytes()].concat()
}

/// Returns the content as stored DEFLATE blocks, each with its length; the last one is marked.
fn store(content: &[u8]) -> Vec<u8> {
    let blocks: Vec<&[u8]> = if content.is_empty() { vec![content] } else { content.chunks(0xffff).collect() };
    let mut stored = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let length = block.len() as u16;
        stored.push(u8::from(place + 1 == blocks.len()));
        stored.extend(length.to_le_bytes());
        stored.extend((!length).to_le_bytes());
        stored.extend(*block);
    }
    stored
}
