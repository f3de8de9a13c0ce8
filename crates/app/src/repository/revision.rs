//! From what people write to a commit.

use holdfast_git::ObjectId;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::reader::{Kind, Reader};

use super::fetch::Opened;
use super::{objects, reach};
use crate::{App, Result};

/// A tag, a branch, or the beginning of the id of a commit that one of them leads to; then perhaps a way back from there,
/// such as `~2` or `^2`. None if it is none of these.
pub(crate) async fn resolve(app: &App, opened: &Opened, text: &str) -> Result<Option<ObjectId>> {
    let text = text.trim();
    let (base, way) = text.split_at(text.find(['~', '^']).unwrap_or(text.len()));
    let Some(steps) = steps(way) else { return Ok(None) };
    let names = [format!("refs/tags/{base}"), format!("refs/heads/{base}"), base.to_owned()];
    let named = names.iter().find_map(|name| opened.refs.find(name)).map(|target| target.object());
    let found = match named {
        Some(id) => Some(id),
        None if base == "HEAD" => opened.refs.head_target(),
        None => reach::find(app, opened, base, Kind::Commit).await?,
    };
    let Some(id) = found else { return Ok(None) };
    if named.is_none() && steps.is_empty() {
        return Ok(found);
    }
    objects::read(app, opened, move |reader| {
        let (target, kind) = reader.peel(id)?;
        if kind == Kind::Commit { walk(reader, target.object(), &steps) } else { Ok(None) }
    })
    .await
}

/// The same for what may be left out: then it is the default branch.
pub(super) async fn resolve_or_head(app: &App, opened: &Opened, text: Option<&str>) -> Result<Option<ObjectId>> {
    match text.filter(|text| !text.is_empty()) {
        Some(text) => resolve(app, opened, text).await,
        None => Ok(opened.refs.head_target()),
    }
}

/// Which parent, and how often.
struct Step {
    parent: usize,
    times: usize,
}

/// None for what is no way.
fn steps(mut way: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while let Some(sign) = way.chars().next() {
        let rest = &way[sign.len_utf8()..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = if digits == 0 { 1 } else { rest[..digits].parse().ok()? };
        steps.push(match (sign, number) {
            ('~', times) => Step { parent: 1, times },
            ('^', 0) => Step { parent: 1, times: 0 },
            ('^', parent) => Step { parent, times: 1 },
            _ => return None,
        });
        way = &rest[digits..];
    }
    Some(steps)
}

fn walk(reader: &Reader, mut at: ObjectId, steps: &[Step]) -> Result<Option<ObjectId>> {
    for step in steps {
        for _ in 0..step.times {
            match reader.parents(at)?.get(step.parent - 1) {
                Some(parent) => at = *parent,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_git_reads_them() {
        let told = |way| steps(way).map(|steps| steps.iter().map(|it| (it.parent, it.times)).collect::<Vec<_>>());
        assert_eq!(told(""), Some(vec![]));
        assert_eq!(told("~"), Some(vec![(1, 1)]));
        assert_eq!(told("~12^2^0"), Some(vec![(1, 12), (2, 1), (1, 0)]));
        assert_eq!(told("^^"), Some(vec![(1, 1), (1, 1)]));
        for nonsense in ["^{tree}", "~x", "^-1", "~99999999999999999999999", "~1 ", "^é"] {
            assert_eq!(told(nonsense), None, "{nonsense}");
        }
    }
}
