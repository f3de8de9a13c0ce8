//! Resolves revisions, as users write them, to commits.

use holdfast_git::ObjectId;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::reader::{Kind, Reader};

use crate::repository::open_repository::OpenRepository;
use crate::repository::refs::ref_log;
use crate::repository::{object_lookup, objects};
use crate::{Actor, App, Result};

/// Resolves a tag, a branch, or the beginning of the id of a reachable commit, with an optional suffix such as `~2` or
/// `^2`. Returns `None` if the text is none of these.
pub(crate) async fn resolve(app: &App, repository: &OpenRepository, text: &str) -> Result<Option<ObjectId>> {
    let text = text.trim();
    let (base, suffix) = text.split_at(text.find(['~', '^']).unwrap_or(text.len()));
    let Some(steps) = parse_steps(suffix) else { return Ok(None) };
    let names = [format!("refs/tags/{base}"), format!("refs/heads/{base}"), base.to_owned()];
    let ref_object = names.iter().find_map(|name| repository.refs.find(name)).map(|target| target.peeled_or_self());
    let found = match ref_object {
        Some(id) => Some(id),
        None if base == "HEAD" => repository.refs.head_target(),
        None => object_lookup::find_reachable(app, repository, base, Kind::Commit).await?,
    };
    let Some(id) = found else { return Ok(None) };
    if ref_object.is_none() && steps.is_empty() {
        return Ok(found);
    }
    objects::read(app, repository, move |reader| {
        let (target, kind) = reader.peel(id)?;
        if kind == Kind::Commit { follow_parents(reader, target.peeled_or_self(), &steps) } else { Ok(None) }
    })
    .await
}

/// A commit that a revision names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundCommit {
    pub id: ObjectId,
    /// Whether a ref reaches it, so that it has pages of its own.
    pub is_reachable: bool,
}

/// Like [`resolve`], but also returns a commit that an update of the ref log had as its old or new value. `update` is the
/// generation of that update.
pub(super) async fn resolve_or_retained(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    text: &str,
    update: Option<i64>,
) -> Result<Option<FoundCommit>> {
    if let Some(id) = resolve(app, repository, text).await? {
        return Ok(Some(FoundCommit { id, is_reachable: true }));
    }
    let Some(generation) = update else { return Ok(None) };
    let retained = ref_log::find_retained_commit(app, actor, repository, text, generation).await?;
    Ok(retained.map(|id| FoundCommit { id, is_reachable: false }))
}

/// Like [`resolve`], but returns the tip of the default branch if the text is missing or empty.
pub(super) async fn resolve_or_head(
    app: &App,
    repository: &OpenRepository,
    text: Option<&str>,
) -> Result<Option<ObjectId>> {
    match text.filter(|text| !text.is_empty()) {
        Some(text) => resolve(app, repository, text).await,
        None => Ok(repository.refs.head_target()),
    }
}

/// Maximum size of the full name of a ref, which limits how many beginnings of an address are looked up.
const MAX_REF_BYTES: usize = 255;

/// Splits the end of a page's address, such as `feature/x/src/main.rs`, into a revision for [`resolve`] and a path. The
/// revision is the longest beginning that names a ref, or the first segment if none does.
pub(crate) fn split_address<'a>(refs: &impl RefLookup, address: &'a str) -> (&'a str, &'a str) {
    let address = address.trim_matches('/');
    let names_ref = |name: &str| {
        let is_full_name = name.starts_with("refs/") && refs.find(name).is_some();
        is_full_name || ["refs/tags/", "refs/heads/"].iter().any(|kind| refs.find(&format!("{kind}{name}")).is_some())
    };
    let ends = || address.match_indices('/').map(|(end, _)| end).chain([address.len()]);
    let candidates: Vec<usize> = ends().take_while(|end| *end <= MAX_REF_BYTES).collect();
    let ref_end = candidates.into_iter().rev().find(|end| names_ref(&address[..*end]));
    let end = ref_end.or_else(|| ends().next()).unwrap_or(address.len());
    (&address[..end], address[end..].trim_start_matches('/'))
}

/// Returns the branch that [`resolve`] finds for a revision. Returns None for a tag or a commit.
pub(crate) fn find_branch<'a>(refs: &impl RefLookup, revision: &'a str) -> Option<&'a str> {
    if refs.find(&format!("refs/tags/{revision}")).is_some() {
        return None;
    }
    let is_branch = |name: &&str| refs.find(&format!("refs/heads/{name}")).is_some();
    Some(revision).filter(is_branch).or_else(|| revision.strip_prefix("refs/heads/").filter(is_branch))
}

/// Returns the text that names a commit in the address of a page: the revision that was resolved to it or, if the page
/// would read the revision as a revision and a path, such as `feature/x~1`, the id of the commit.
pub(super) fn address(repository: &OpenRepository, revision: &str, commit: ObjectId) -> String {
    let is_kept = split_address(&*repository.refs, revision) == (revision, "");
    if is_kept { revision.to_owned() } else { commit.to_string() }
}

/// A step of a suffix: to the parent with this number, repeated.
struct ParentStep {
    parent: usize,
    times: usize,
}

/// Parses a suffix. Returns `None` if it is malformed.
fn parse_steps(mut suffix: &str) -> Option<Vec<ParentStep>> {
    let mut steps = Vec::new();
    while let Some(operator) = suffix.chars().next() {
        let rest = &suffix[operator.len_utf8()..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = if digits == 0 { 1 } else { rest[..digits].parse().ok()? };
        steps.push(match (operator, number) {
            ('~', times) => ParentStep { parent: 1, times },
            ('^', 0) => ParentStep { parent: 1, times: 0 },
            ('^', parent) => ParentStep { parent, times: 1 },
            _ => return None,
        });
        suffix = &rest[digits..];
    }
    Some(steps)
}

fn follow_parents(reader: &Reader, mut commit: ObjectId, steps: &[ParentStep]) -> Result<Option<ObjectId>> {
    for step in steps {
        for _ in 0..step.times {
            match reader.parents(commit)?.get(step.parent - 1) {
                Some(parent) => commit = *parent,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(commit))
}

#[cfg(test)]
mod tests {
    use holdfast_git::{RefTarget, SHA1};

    use super::*;

    struct Refs(&'static [&'static str]);

    impl RefLookup for Refs {
        fn head(&self) -> &str {
            "refs/heads/main"
        }

        fn iter_with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, RefTarget)> {
            let target = RefTarget { id: ObjectId::null(SHA1), peeled: None };
            self.0.iter().filter(move |name| name.starts_with(prefix)).map(move |name| (*name, target))
        }

        fn find(&self, name: &str) -> Option<RefTarget> {
            self.iter_with_prefix(name).find(|(found, _)| *found == name).map(|(_, target)| target)
        }
    }

    #[test]
    fn an_address_is_split_at_the_end_of_the_longest_ref() {
        let refs = Refs(&["refs/heads/feature/x", "refs/heads/main", "refs/tags/feature", "refs/tags/main/a"]);
        for (address, expected) in [
            ("main", ("main", "")),
            ("main/src/lib.rs", ("main", "src/lib.rs")),
            ("main/a/b", ("main/a", "b")),
            ("refs/heads/main/a/b", ("refs/heads/main", "a/b")),
            ("feature/x/y", ("feature/x", "y")),
            ("feature/y", ("feature", "y")),
            ("/main/src/", ("main", "src")),
            ("0123abcd/src/lib.rs", ("0123abcd", "src/lib.rs")),
            ("unknown", ("unknown", "")),
            ("", ("", "")),
        ] {
            assert_eq!(split_address(&refs, address), expected, "{address}");
        }
    }

    #[test]
    fn a_branch_is_named_unless_a_tag_has_its_name() {
        let refs = Refs(&["refs/heads/main", "refs/heads/v1", "refs/tags/v1", "refs/heads/refs/heads/x"]);
        for (revision, expected) in [
            ("main", Some("main")),
            ("refs/heads/main", Some("main")),
            ("v1", None),
            ("refs/heads/v1", Some("v1")),
            ("refs/tags/v1", None),
            ("refs/heads/x", Some("refs/heads/x")),
            ("0123abcd", None),
            ("main~1", None),
            ("", None),
        ] {
            assert_eq!(find_branch(&refs, revision), expected, "{revision}");
        }
    }

    #[test]
    fn revision_suffixes_are_parsed_as_git_does() {
        let parsed =
            |way| parse_steps(way).map(|steps| steps.iter().map(|it| (it.parent, it.times)).collect::<Vec<_>>());
        assert_eq!(parsed(""), Some(vec![]));
        assert_eq!(parsed("~"), Some(vec![(1, 1)]));
        assert_eq!(parsed("~12^2^0"), Some(vec![(1, 12), (2, 1), (1, 0)]));
        assert_eq!(parsed("^^"), Some(vec![(1, 1), (1, 1)]));
        for invalid in ["^{tree}", "~x", "^-1", "~99999999999999999999999", "~1 ", "^é"] {
            assert_eq!(parsed(invalid), None, "{invalid}");
        }
    }
}
