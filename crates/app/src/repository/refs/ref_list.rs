//! Pages of branches or tags that are searched by name, and sorted by name, by version or by date.

use chrono::{DateTime, FixedOffset};
use holdfast_domain::page::PageRequest;
use holdfast_domain::text::compare_naturally;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::reader::{Kind, Reader};
use holdfast_git::{ObjectId, RefTarget};
use holdfast_store::repository::snapshot::{RefKind, Snapshot};

use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

/// What refs are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefOrder {
    Name,
    /// The name, with numbers in it compared by their values.
    Version,
    /// The date of an annotated tag, and otherwise that of the commit.
    Date,
}

/// The refs that a client asks for.
#[derive(Clone, Debug)]
pub struct ListRefs {
    /// A part of the names in any letter case. `^` before it stands for the beginning of a name, and `$` after it for
    /// the end.
    pub search: Option<String>,
    pub order: RefOrder,
    pub descending: bool,
}

/// Maximum number of refs that are sorted by date or by version. More are sorted by name: the date of each is in its
/// object.
const MAX_SORTED_REFS: usize = 10_000;

/// A page of refs with their short names.
pub(super) struct RefPage {
    pub total: usize,
    pub refs: Vec<(String, RefTarget)>,
}

/// Lists a page of the branches or tags of a repository. Refs are searched and sorted on a blocking thread, because a
/// repository can have as many as its limit allows.
pub(super) async fn list(
    app: &App,
    repository: &OpenRepository,
    kind: RefKind,
    input: &ListRefs,
    page: PageRequest,
) -> Result<RefPage> {
    let search = input.search.as_deref().and_then(NameSearch::parse);
    let selection = RefSelection { kind, search, order: input.order, descending: input.descending, page };
    let refs = repository.refs.clone();
    if selection.is_unfiltered_by_name(&refs) {
        return Ok(selection.read_unfiltered(&refs));
    }
    if selection.order == RefOrder::Date {
        return objects::read(app, repository, move |reader| selection.read(&refs, Some(reader))).await;
    }
    app.git_runtime.object_read_permits.run_blocking(repository.client, move || selection.read(&refs, None)).await
}

/// A page of the refs of one kind.
struct RefSelection {
    kind: RefKind,
    search: Option<NameSearch>,
    order: RefOrder,
    descending: bool,
    page: PageRequest,
}

impl RefSelection {
    /// Returns whether all refs are listed, by name.
    fn is_unfiltered_by_name(&self, refs: &Snapshot) -> bool {
        self.search.is_none() && (self.order == RefOrder::Name || refs.count(self.kind) > MAX_SORTED_REFS)
    }

    /// Reads the page if [`Self::is_unfiltered_by_name`]. The snapshot finds it without reading the refs before it.
    fn read_unfiltered(&self, refs: &Snapshot) -> RefPage {
        let total = refs.count(self.kind);
        let range = self.page.range(total);
        let range = if self.descending { total - range.end..total - range.start } else { range };
        let mut found = refs.list(self.kind, range);
        if self.descending {
            found.reverse();
        }
        RefPage { total, refs: to_owned_names(&found) }
    }

    /// Searches and sorts the refs. The reader is needed for [`RefOrder::Date`]; without it they are sorted by name.
    fn read(&self, refs: &Snapshot, reader: Option<&Reader>) -> Result<RefPage> {
        let prefix = match self.kind {
            RefKind::Branches => "refs/heads/",
            RefKind::Tags => "refs/tags/",
        };
        let all = refs.iter_with_prefix(prefix).map(|(name, target)| (&name[prefix.len()..], target));
        let is_match = |name: &str| self.search.as_ref().is_none_or(|search| search.matches(name));
        let mut found: Vec<(&str, RefTarget)> = all.filter(|(name, _)| is_match(name)).collect();
        let total = found.len();
        match (self.order, reader) {
            _ if total > MAX_SORTED_REFS => {}
            (RefOrder::Version, _) => found.sort_by(|one, other| compare_naturally(one.0, other.0)),
            (RefOrder::Date, Some(reader)) => sort_by_date(reader, &mut found)?,
            (RefOrder::Name, _) | (RefOrder::Date, None) => {}
        }
        if self.descending {
            found.reverse();
        }
        Ok(RefPage { total, refs: to_owned_names(&found[self.page.range(total)]) })
    }
}

fn to_owned_names(refs: &[(&str, RefTarget)]) -> Vec<(String, RefTarget)> {
    refs.iter().map(|(name, target)| ((*name).to_owned(), *target)).collect()
}

/// Sorts refs by their dates, and those with the same date by name.
fn sort_by_date(reader: &Reader, refs: &mut Vec<(&str, RefTarget)>) -> Result<()> {
    let mut dated = Vec::with_capacity(refs.len());
    for (name, target) in refs.drain(..) {
        dated.push((read_seconds(reader, target)?, name, target));
    }
    dated.sort_by_key(|(seconds, name, _)| (*seconds, *name));
    refs.extend(dated.into_iter().map(|(_, name, target)| (name, target)));
    Ok(())
}

/// Returns the date of a ref in seconds since 1970, or 0 if it has none.
fn read_seconds(reader: &Reader, target: RefTarget) -> Result<i64> {
    if let Some(date) = read_tag_date(reader, target)? {
        return Ok(date.timestamp());
    }
    let id = target.peeled_or_self();
    let is_commit = reader.kind(id)? == Some(Kind::Commit);
    Ok(if is_commit { reader.commit(id)?.committer.seconds } else { 0 })
}

/// Maximum size of a tag object that is read for its date.
const MAX_TAG_BYTES: u64 = 1 << 20;

/// Returns when an annotated tag was created, if it states that. Returns None for other refs.
pub(super) fn read_tag_date(reader: &Reader, target: RefTarget) -> Result<Option<DateTime<FixedOffset>>> {
    let id: ObjectId = target.id;
    match target.peeled.map(|_| reader.header(id)).transpose()?.flatten() {
        Some((Kind::Tag, bytes)) if bytes <= MAX_TAG_BYTES => Ok(parse_tag_date(&reader.content(id)?)),
        _ => Ok(None),
    }
}

/// Parses the line `tagger NAME <ADDRESS> SECONDS ZONE` of a tag object.
fn parse_tag_date(object: &[u8]) -> Option<DateTime<FixedOffset>> {
    let mut header = object.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let tagger = header.find_map(|line| line.strip_prefix(b"tagger "))?;
    let end = tagger.iter().rposition(|byte| *byte == b'>')?;
    let mut fields = std::str::from_utf8(&tagger[end + 1..]).ok()?.split_ascii_whitespace();
    let seconds = fields.next()?.parse().ok()?;
    // The zone is written as hours and minutes, such as +0130.
    let zone = i32::from(fields.next().map_or(Ok(0), str::parse::<i16>).ok()?);
    let offset = FixedOffset::east_opt(zone / 100 * 3600 + zone % 100 * 60)?;
    Some(DateTime::from_timestamp(seconds, 0)?.with_timezone(&offset))
}

/// A condition on names, without regard to letter case.
struct NameSearch {
    text: String,
    is_beginning: bool,
    is_end: bool,
}

impl NameSearch {
    /// Returns None if the text matches every name.
    fn parse(text: &str) -> Option<Self> {
        let (rest, is_beginning) = text.strip_prefix('^').map_or((text, false), |rest| (rest, true));
        let (rest, is_end) = rest.strip_suffix('$').map_or((rest, false), |rest| (rest, true));
        let is_exact = is_beginning && is_end;
        (!rest.is_empty() || is_exact).then(|| Self { text: rest.to_lowercase(), is_beginning, is_end })
    }

    fn matches(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        match (self.is_beginning, self.is_end) {
            (true, true) => name == self.text,
            (true, false) => name.starts_with(&self.text),
            (false, true) => name.ends_with(&self.text),
            (false, false) => name.contains(&self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_searched_at_their_beginning_their_end_or_anywhere() {
        for (search, name, expected) in [
            ("ea", "Feature", true),
            ("^fea", "Feature", true),
            ("^ea", "Feature", false),
            ("URE$", "feature", true),
            ("fea$", "feature", false),
            ("^feature$", "feature", true),
            ("^feature$", "feature/x", false),
            ("^$", "feature", false),
        ] {
            let search = NameSearch::parse(search).unwrap();
            assert_eq!(search.matches(name), expected, "{} {name}", search.text);
        }
        assert!(["", "^", "$"].iter().all(|all| NameSearch::parse(all).is_none()));
    }

    #[test]
    fn the_date_of_a_tag_has_the_zone_of_its_author() {
        let object = |line: &str| format!("object 00\ntype commit\ntag v1\n{line}\n\ntagger X <x> 5 +0000\n");
        let parsed = |line: &str| parse_tag_date(object(line).as_bytes()).map(|date| date.to_rfc3339());
        assert_eq!(parsed("tagger A <a@b> 0 +0130").as_deref(), Some("1970-01-01T01:30:00+01:30"));
        assert_eq!(parsed("tagger A <a@b> 7200 -0100").as_deref(), Some("1970-01-01T01:00:00-01:00"));
        for malformed in ["note", "tagger A", "tagger A <a@b> x +0000", "tagger A <a@b> 0 +9999999"] {
            assert_eq!(parsed(malformed), None, "{malformed}");
        }
    }
}
