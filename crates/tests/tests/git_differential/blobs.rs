//! File contents: `git ls-tree` and `git cat-file`.

use serde_json::{Value, json};

use crate::pair::{Pair, Request, lossy, percent_encode, status};

fn to_json(content: Result<&[u8], u16>) -> Value {
    content.map_or_else(status, |bytes| json!(bytes.escape_ascii().to_string()))
}

/// Returns the expected response for a blob id, an error status if git has no such blob.
fn expected(pair: &Pair, id: &str) -> Value {
    let blob = pair.local.object(id).filter(|object| object.kind == "blob");
    to_json(blob.map(|object| &object.content[..]).ok_or(404))
}

/// Compares some files of a commit by path, and some blobs by id.
pub async fn check(pair: &mut Pair) {
    let revision = pair.revision();
    let listed = pair.local.git(["ls-tree", "-r", "-t", "-z", &revision.id]).await;
    let nothing = pair.rng.hex(40);
    let mut entries = vec![(b"no/such file".to_vec(), nothing), (Vec::new(), revision.id.clone())];
    for line in listed.split_inclusive(|byte| *byte == 0) {
        let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
        let id = lossy(&line[tab - 40..tab]);
        entries.push((line[tab + 1..line.len() - 1].to_vec(), id));
    }
    for _ in 0..2 {
        let (path, id) = pair.rng.pick(&entries).clone();
        // A query parameter cannot contain paths that are not UTF-8.
        if let Ok(path) = String::from_utf8(path)
            && !path.is_empty()
        {
            let request =
                Request::new("blob", format!("/blobs/{}", percent_encode(&revision.text))).with("filepath", path);
            let ours = pair.bytes(&request).await;
            pair.assert_same(&request, &to_json(ours.as_deref().map_err(|status| *status)), &expected(pair, &id));
        }
        let id = pair.rng.pick(&entries).1.clone();
        let request = Request::new("raw blob", format!("/raw_blobs/{id}"));
        let ours = pair.bytes(&request).await;
        pair.assert_same(&request, &to_json(ours.as_deref().map_err(|status| *status)), &expected(pair, &id));
    }
}
