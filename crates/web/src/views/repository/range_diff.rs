//! The pairs of commits of two versions of a branch.

use askama::Template;
use holdfast_app::repository::browse::range_diff::{CommitPair, MAX_COMMITS, ObjectId, RangeDiff, RangePairs};

use super::commit_line::short_id;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::{visible, words};

#[derive(Template)]
#[template(path = "repository/range_diff.html")]
pub struct RangeDiffPage {
    pub layout: Layout,
    pub old: String,
    pub new: String,
    /// Number of pairs by what happened, such as `3 unchanged, 1 changed`.
    pub summary: String,
    /// None if a version has more than [`MAX_COMMITS`].
    pub pairs: Option<Vec<PairRow>>,
    pub max_commits: usize,
}

/// A pair of commits.
#[derive(Clone, Debug)]
pub struct PairRow {
    pub old: Option<CommitId>,
    pub new: Option<CommitId>,
    /// What happened to the commit: `unchanged`, `changed`, `new` or `dropped`.
    pub change: &'static str,
    /// The class of the color of the change.
    pub color: &'static str,
    pub title: String,
    pub lines: Vec<PairLine>,
    /// Number of lines that are not shown.
    pub hidden_lines: u64,
}

/// A shortened id, with an address if the commit has a page.
#[derive(Clone, Debug)]
pub struct CommitId {
    pub short_id: String,
    pub url: Option<String>,
}

/// A line of the diff of two diffs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairLine {
    /// The class of the row.
    pub class: &'static str,
    pub sign: &'static str,
    /// The line, escaped for HTML.
    pub html: String,
}

/// Builds the page. `old` and `new` are the versions as the address names them.
pub fn range_diff_page(layout: Layout, abilities: Abilities, found: &RangeDiff, old: &str, new: &str) -> RangeDiffPage {
    let links = ProjectLinks::new(&found.project.full_path());
    let mut layout = project_frame(layout, &found.project, abilities, ProjectTab::Code);
    layout.title = format!("Range-diff · {}", found.project.full_path());
    let pairs: Option<Vec<PairRow>> = match &found.pairs {
        RangePairs::Found(pairs) => Some(pairs.iter().map(|pair| pair_row(pair, found, &links)).collect()),
        RangePairs::TooMany => None,
    };
    let count = |change| pairs.iter().flatten().filter(|pair| pair.change == change).count();
    let counts = ["unchanged", "changed", "new", "dropped"].map(|change| (count(change), change));
    let texts = counts.into_iter().filter(|(count, _)| *count > 0);
    let summary = texts.map(|(count, change)| format!("{} {change}", words::number(count))).collect::<Vec<_>>();
    RangeDiffPage {
        layout,
        old: old.to_owned(),
        new: new.to_owned(),
        summary: summary.join(", "),
        pairs,
        max_commits: MAX_COMMITS,
    }
}

fn pair_row(pair: &CommitPair, found: &RangeDiff, links: &ProjectLinks) -> PairRow {
    let (change, color) = match (pair.old, pair.new, pair.is_same) {
        (_, None, _) => ("dropped", "bad"),
        (None, _, _) => ("new", "ok"),
        (_, _, true) => ("unchanged", "off"),
        (_, _, false) => ("changed", "wait"),
    };
    let id = |id: Option<_>, is_reachable: bool| {
        let id = id.map(|id: ObjectId| id.to_string())?;
        let url = is_reachable.then(|| links.commit(&id));
        Some(CommitId { short_id: short_id(&id).to_owned(), url })
    };
    let text = String::from_utf8_lossy(&pair.text);
    let lines: Vec<PairLine> = text.lines().map(pair_line).collect();
    PairRow {
        old: id(pair.old, found.is_old_reachable),
        new: id(pair.new, found.is_new_reachable),
        change,
        color,
        title: pair.title.clone(),
        hidden_lines: pair.lines.saturating_sub(lines.len() as u64),
        lines,
    }
}

/// Maximum number of characters of one line.
const MAX_LINE_CHARS: usize = 1_000;

fn pair_line(line: &str) -> PairLine {
    let (class, sign) = match line.as_bytes().first() {
        Some(b'+') => ("add", "+"),
        Some(b'-') => ("del", "−"),
        Some(b'@') => ("hunk", ""),
        _ => ("", ""),
    };
    let text = if class == "hunk" { line.trim_matches(['@', ' ']) } else { line.get(1..).unwrap_or_default() };
    let end = text.char_indices().nth(MAX_LINE_CHARS).map_or(text.len(), |(end, _)| end);
    PairLine { class, sign, html: visible::escape(&text[..end]).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_sign_beside_their_color() {
        let shown = |line| {
            let PairLine { class, sign, html } = pair_line(line);
            (class, sign, html)
        };
        assert_eq!(shown("++q<"), ("add", "+", "+q&lt;".to_owned()));
        assert_eq!(shown("@@ Metadata"), ("hunk", "", "Metadata".to_owned()));
        assert_eq!(shown(" x"), ("", "", "x".to_owned()));
        assert_eq!(shown(""), ("", "", String::new()));
    }
}
