use serde::{Deserialize, Serialize};

use super::section::{A_BOOLEAN, STRINGS, Section, boolean, strings};
use super::value::Value;

/// What is kept from one run to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    pub key: Option<String>,
    pub untracked: bool,
    pub paths: Vec<String>,
}

pub(super) fn read(section: &Section) -> Result<Option<Cache>, String> {
    let Some(value) = section.get("cache") else { return Ok(None) };
    let cache = Section::of(section.place_of("cache"), value)?;
    cache.has_only(&["key", "untracked", "paths"])?;
    let text = |value: &Value| value.text_or_symbol().map(str::to_owned);
    Ok(Some(Cache {
        key: cache.entry("key", text, "should be a string or symbol")?,
        untracked: cache.entry("untracked", boolean, A_BOOLEAN)?.unwrap_or(false),
        paths: cache.entry("paths", strings, STRINGS)?.unwrap_or_default(),
    }))
}
