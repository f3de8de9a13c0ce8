//! Reads the tar archives of `git archive`: ustar, with pax headers for values that are too long for it.

use crate::archives::Item;

const BLOCK: usize = 512;

pub fn items(mut archive: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let (mut long_path, mut long_link, mut long_size) = (None, None, None);
    loop {
        let (head, rest) = archive.split_at(BLOCK);
        if head.iter().all(|byte| *byte == 0) {
            return items;
        }
        let size = long_size.take().unwrap_or_else(|| octal(&head[124..136]) as usize);
        let content = &rest[..size];
        archive = &rest[size.next_multiple_of(BLOCK)..];
        let kind = match head[156] {
            b'g' => continue,
            b'x' => {
                for (key, value) in records(content) {
                    match key {
                        b"path" => long_path = Some(value.to_vec()),
                        b"linkpath" => long_link = Some(value.to_vec()),
                        b"size" => long_size = Some(String::from_utf8_lossy(value).parse().unwrap()),
                        _ => {}
                    }
                }
                continue;
            }
            b'0' | 0 => "file",
            b'2' => "link",
            b'5' => "directory",
            other => panic!("a kind of entry that git does not write: {other}"),
        };
        let (prefix, name) = (text(&head[345..500]), text(&head[..100]));
        let short_path = if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() };
        let path = long_path.take().unwrap_or(short_path);
        let link = long_link.take().unwrap_or_else(|| text(&head[157..257]).to_vec());
        let content = if kind == "link" { link } else { content.to_vec() };
        items.push(Item { path, mode: octal(&head[100..108]), kind, content });
    }
}

fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap()
}

fn octal(field: &[u8]) -> u32 {
    let digits = String::from_utf8_lossy(text(field));
    u32::from_str_radix(digits.trim(), 8).unwrap()
}

/// `LENGTH KEY=VALUE\n`, where the length is that of the whole record.
fn records(mut content: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ').unwrap();
        let length: usize = String::from_utf8_lossy(&content[..space]).parse().unwrap();
        let record = &content[space + 1..length - 1];
        let sign = record.iter().position(|byte| *byte == b'=').unwrap();
        found.push((&record[..sign], &record[sign + 1..]));
        content = &content[length..];
    }
    found
}
