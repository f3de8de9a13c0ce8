//! Two files with the same SHA-1 id.

use gix::hash::{Kind, hasher};

/// The first 320 bytes of both files of the collision that was published in 2017 (shattered.io): the common prefix, and
/// the colliding blocks of each file.
const SHARED_PREFIX: &str = "\
    255044462d312e330a25e2e3cfd30a0a0a312030206f626a0a3c3c2f5769647468203220302052\
    2f4865696768742033203020522f547970652034203020522f537562747970652035203020522f\
    46696c7465722036203020522f436f6c6f7253706163652037203020522f4c656e677468203820\
    3020522f42697473506572436f6d706f6e656e7420383e3e0a73747265616d0affd8fffe002453\
    48412d3120697320646561642121212121852fec092339759c39b1a1c63c4c97e1fffe01";
const BLOCKS: [&str; 2] = [
    "7f46dc93a6b67e013b029aaa1db2560b45ca67d688c7f84b8c4c791fe02b3df614f86db1690901c56b45c1530afedfb7\
     6038e972722fe7ad728f0e4904e046c230570fe9d41398abe12ef5bc942be33542a4802d98b5d70f2a332ec37fac3514\
     e74ddc0f2cc1a874cd0c78305a21566461309789606bd0bf3f98cda8044629a1",
    "7346dc9166b67e118f029ab621b2560ff9ca67cca8c7f85ba84c79030c2b3de218f86db3a90901d5df45c14f26fedfb3\
     dc38e96ac22fe7bd728f0e45bce046d23c570feb141398bb552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500\
     eb4ddc0decc1a864790c782c76215660dd309791d06bd0af3f98cda4bc4629b1",
];

fn decode_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A user who could push both files could replace one by the other in checkouts.
#[test]
fn sha1_collision_attacks_are_rejected() {
    let files = BLOCKS.map(|blocks| decode_hex(&format!("{SHARED_PREFIX}{blocks}")));
    assert!(files[0] != files[1] && files.iter().all(|file| file.len() == 320));
    for file in &files {
        let mut sum = hasher(Kind::Sha1);
        sum.update(file);
        let refused = sum.try_finalize().unwrap_err().to_string();
        assert!(refused.contains("collision attack"), "{refused}");
        // Both files have this SHA-1 hash, so the constants are the published collision.
        assert!(refused.contains("f92d74e3874587aaf443d1db961d4e26dde13e9c"), "{refused}");
    }
    let mut other = files[0].clone();
    other[319] ^= 1;
    let mut sum = hasher(Kind::Sha1);
    sum.update(&other);
    sum.try_finalize().unwrap();
}
