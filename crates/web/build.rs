//! Passes a hash over the sources of this crate to the compiler, for the validators of pages: pages of another build may
//! differ although they show the same objects.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for directory in ["assets", "src", "templates"] {
        println!("cargo::rerun-if-changed={directory}");
        list_files(Path::new(directory), &mut files)?;
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
