//! The files that a pack consists of, and their sizes.

/// One of the files of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackFile {
    Pack,
    Index,
    ReverseIndex,
    Bitmap,
    CommitGraph,
}

impl PackFile {
    /// All files, in the order in which they are stored in one object.
    pub const ALL: [Self; 5] = [Self::Pack, Self::Index, Self::ReverseIndex, Self::Bitmap, Self::CommitGraph];

    /// All files, in the order in which they are added to a repository. The index is last: git finds a pack by it.
    pub const LINK_ORDER: [Self; 5] = [Self::Pack, Self::ReverseIndex, Self::Bitmap, Self::CommitGraph, Self::Index];

    pub const fn extension(self) -> &'static str {
        match self {
            Self::Pack => "pack",
            Self::Index => "idx",
            Self::ReverseIndex => "rev",
            Self::Bitmap => "bitmap",
            Self::CommitGraph => "graph",
        }
    }

    /// Returns whether every pack has this file.
    pub const fn is_required(self) -> bool {
        matches!(self, Self::Pack | Self::Index)
    }
}

/// The sizes of the files of a pack in bytes. The size of a file that does not exist is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackSizes {
    pub pack: u64,
    pub index: u64,
    pub reverse_index: u64,
    pub bitmap: u64,
    pub commit_graph: u64,
}

impl PackSizes {
    /// Creates the sizes from a list in the order of [`PackFile::ALL`]. Files that are not in the list do not exist.
    /// Returns None for an empty list, and for one with more files than there are.
    pub fn from_list(list: &[u64]) -> Option<Self> {
        if list.is_empty() || list.len() > PackFile::ALL.len() {
            return None;
        }
        let mut sizes = Self::default();
        for (file, size) in PackFile::ALL.into_iter().zip(list) {
            sizes.set(file, *size);
        }
        Some(sizes)
    }

    /// Returns the sizes of all files in the order of [`PackFile::ALL`].
    pub fn to_list(self) -> Vec<u64> {
        PackFile::ALL.into_iter().map(|file| self.get(file)).collect()
    }

    pub const fn get(&self, file: PackFile) -> u64 {
        match file {
            PackFile::Pack => self.pack,
            PackFile::Index => self.index,
            PackFile::ReverseIndex => self.reverse_index,
            PackFile::Bitmap => self.bitmap,
            PackFile::CommitGraph => self.commit_graph,
        }
    }

    pub(crate) const fn set(&mut self, file: PackFile, size: u64) {
        match file {
            PackFile::Pack => self.pack = size,
            PackFile::Index => self.index = size,
            PackFile::ReverseIndex => self.reverse_index = size,
            PackFile::Bitmap => self.bitmap = size,
            PackFile::CommitGraph => self.commit_graph = size,
        }
    }

    /// Returns the files that exist and their sizes, in the order of [`PackFile::ALL`].
    pub fn files(self) -> impl Iterator<Item = (PackFile, u64)> {
        PackFile::ALL.into_iter().map(move |file| (file, self.get(file))).filter(|(_, size)| *size > 0)
    }

    pub fn total(&self) -> u64 {
        self.files().map(|(_, size)| size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_pack_sizes_is_read_in_the_order_it_is_written_in() {
        let sizes = PackSizes { pack: 5, index: 4, reverse_index: 3, bitmap: 2, commit_graph: 1 };
        assert_eq!(sizes.to_list(), [5, 4, 3, 2, 1]);
        assert_eq!(PackSizes::from_list(&sizes.to_list()), Some(sizes));
        assert_eq!(PackSizes::from_list(&[5, 4]), Some(PackSizes { pack: 5, index: 4, ..PackSizes::default() }));
        assert_eq!(PackSizes::from_list(&[]), None);
        assert_eq!(PackSizes::from_list(&[1; 6]), None);
        assert_eq!(sizes.total(), 15);
    }

    #[test]
    fn every_pack_file_is_linked_once_and_the_index_last() {
        assert!(PackFile::ALL.iter().all(|file| PackFile::LINK_ORDER.contains(file)));
        assert_eq!(PackFile::LINK_ORDER.last(), Some(&PackFile::Index));
    }
}
