//! Whether somebody has deleted packs of a copy. A directory of packs that was compared with the list bears a date that it
//! loses with every change of what is in it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::{Duration, SystemTime};

use holdfast_git::Bare;

use super::Result;

const UNTOUCHED: SystemTime = SystemTime::UNIX_EPOCH;
const TOUCHED: Duration = Duration::from_secs(1);

/// To be followed by a look at what is there: what was deleted before does not show.
pub(super) fn forget(bare: &Bare) -> std::io::Result<()> {
    date(bare, UNTOUCHED)
}

pub(super) fn is_untouched(bare: &Bare) -> bool {
    std::fs::metadata(bare.packs()).and_then(|packs| packs.modified()).is_ok_and(|changed| changed == UNTOUCHED)
}

/// Adds files, which does not count, unless somebody deletes others meanwhile.
pub(super) fn add(bare: &Bare, add: impl FnOnce() -> Result<()>) -> Result<()> {
    let before = names(bare)?;
    let was_untouched = is_untouched(bare);
    add()?;
    if was_untouched {
        forget(bare)?;
        if !before.is_subset(&names(bare)?) {
            date(bare, UNTOUCHED + TOUCHED)?;
        }
    }
    Ok(())
}

fn date(bare: &Bare, date: SystemTime) -> std::io::Result<()> {
    std::fs::File::open(bare.packs())?.set_modified(date)
}

fn names(bare: &Bare) -> std::io::Result<HashSet<OsString>> {
    std::fs::read_dir(bare.packs())?.map(|file| file.map(|file| file.file_name())).collect()
}
