//! Tests that large objects are not read unnecessarily. The file has one test only, because the peak of memory is
//! measured for the whole process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::process::Command;

use holdfast_git::reader::{Kind, Reader};
use holdfast_git::{BareRepository, ObjectId, RefTarget};

const SIZE: u64 = 200 << 20;

/// Peeling a tag does not inflate a large object in a small pack to find out its kind.
#[test]
fn peeling_a_tag_does_not_read_a_large_blob() {
    let directory = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(&directory)
            .env("HOME", directory.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "--bare", "."]);
    // A sparse file of zeros, which this process does not hold in memory.
    File::create(directory.path().join("zeros")).unwrap().set_len(SIZE).unwrap();
    let blob = git(&["hash-object", "-w", "zeros"]);
    git(&["tag", "-a", "-m", "large", "large", &blob]);
    let tag = git(&["rev-parse", "refs/tags/large"]);
    git(&["repack", "-a", "-d", "-q"]);
    let [blob, tag] = [blob, tag].map(|hex| ObjectId::from_hex(hex.as_bytes()).unwrap());

    let reader = Reader::open(&BareRepository::create_or_open(directory.path().to_owned()).unwrap()).unwrap();
    let before = peak_bytes();
    assert_eq!(reader.peel(tag).unwrap(), (RefTarget { id: tag, peeled: Some(blob) }, Kind::Blob));
    assert_eq!(reader.peel(blob).unwrap(), (RefTarget { id: blob, peeled: None }, Kind::Blob));
    let more = peak_bytes() - before;
    assert!(more < SIZE / 2, "{more} bytes more");
}

fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}
