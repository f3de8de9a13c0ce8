//! Passes a hash over all sources that pages are rendered by to the compiler, for the validators of pages: pages of
//! another build may differ although they show the same objects.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The sources of this crate and of those that it depends on.
const SOURCES: [&str; 10] = [
    "assets",
    "src",
    "templates",
    "../app/src",
    "../domain/src",
    "../git/src",
    "../http-core/src",
    "../store/src",
    "../../Cargo.lock",
    "../../Cargo.toml",
];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for path in SOURCES.map(Path::new) {
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_dir() { list_files(path, &mut files)? } else { files.push(path.to_owned()) }
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        fs::read(&file)?.hash(&mut hasher);
        file.hash(&mut hasher);
    }
    println!("cargo::rustc-env=HOLDFAST_WEB_SOURCES={:016x}", hasher.finish());
    Ok(())
}

fn list_files(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { list_files(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
