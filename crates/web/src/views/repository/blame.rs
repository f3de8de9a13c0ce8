//! The page that shows the last commit of each line of a file.

use askama::Template;
use chrono::DateTime;
use holdfast_app::repository::browse::blame::{Blame, BlamedContent, BlamedFile};

use super::commit_line::short_id;
use super::path::PathView;
use super::ref_switch::{CodeView, RefSwitch};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Person, ProjectLinks};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "repository/blame.html")]
pub struct BlamePage {
    pub layout: Layout,
    pub refs: RefSwitch,
    pub path: PathView,
    pub size: String,
    pub file_url: String,
    pub raw_url: String,
    /// The address with the id of the commit, which keeps its content.
    pub permalink: String,
    pub body: BlameBody,
}

/// What the page shows of a file.
pub enum BlameBody {
    Lines(Vec<BlockView>),
    Empty,
    Binary,
    TooLarge,
}

/// Consecutive lines with their commit.
pub struct BlockView {
    pub title: String,
    pub url: String,
    pub short_id: String,
    pub author: Person,
    pub time: Time,
    /// The address of the file before the commit, unless the commit added it.
    pub before_url: Option<String>,
    /// The class of the age: `age-0` for the oldest commits of the file to `age-4` for the newest.
    pub age: &'static str,
    /// The numbers of the lines with their HTML.
    pub lines: Vec<(usize, String)>,
}

/// Returns the lines of a file.
pub fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

/// Builds the page of a file with the commits of its lines. `html` is the lines as HTML.
pub fn blame_page(layout: Layout, file: &BlamedFile, abilities: Abilities, html: Vec<String>) -> BlamePage {
    let (project, revision, path) = (&file.project, file.revision.as_str(), file.path.as_str());
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Blame of {path} · {} at {revision}", project.full_path());
    let body = match &file.content {
        BlamedContent::TooLarge => BlameBody::TooLarge,
        BlamedContent::Binary => BlameBody::Binary,
        BlamedContent::Lines { text, .. } if text.is_empty() => BlameBody::Empty,
        BlamedContent::Lines { blame, .. } => BlameBody::Lines(blocks(html, blame, &links)),
    };
    BlamePage {
        layout,
        size: words::size(file.bytes),
        file_url: links.blob(revision, path),
        raw_url: links.raw(revision, path),
        permalink: links.blame(&file.commit.id.to_string(), path),
        body,
        refs: RefSwitch::new(&links, file.default_branch.as_ref(), CodeView::Blame, revision, path),
        path: PathView::new(&project.name, &links, revision, path),
    }
}

fn blocks(html: Vec<String>, blame: &Blame, links: &ProjectLinks) -> Vec<BlockView> {
    let times = || blame.commits.iter().map(|commit| commit.seconds);
    let (oldest, newest) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let mut lines = (1..).zip(html);
    let mut views = Vec::with_capacity(blame.blocks.len());
    for block in &blame.blocks {
        let Some(commit) = blame.commits.get(block.commit) else { continue };
        views.push(BlockView {
            title: if commit.title.is_empty() { "(no message)".to_owned() } else { commit.title.clone() },
            url: links.commit(commit.id),
            short_id: short_id(&commit.id.to_string()).to_owned(),
            author: Person::from_signature(&commit.author_name, &commit.author_email),
            time: Time::date(DateTime::from_timestamp(commit.seconds, 0).unwrap_or_default()),
            before_url: commit.previous.as_ref().map(|(id, path)| links.blame(&id.to_string(), path)),
            age: age_class(commit.seconds, oldest, newest),
            lines: lines.by_ref().take(block.lines).collect(),
        });
    }
    views
}

/// The classes of ages, the oldest first.
const AGES: [&str; 5] = ["age-0", "age-1", "age-2", "age-3", "age-4"];

/// Returns the class of a commit's age among the commits of the file.
fn age_class(seconds: i64, oldest: i64, newest: i64) -> &'static str {
    let span = newest.saturating_sub(oldest).max(1);
    let position = i128::from(seconds.saturating_sub(oldest)) * (AGES.len() as i128 - 1) / i128::from(span);
    usize::try_from(position).ok().and_then(|index| AGES.get(index)).copied().unwrap_or(AGES[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_commits_have_the_last_class() {
        assert_eq!(age_class(100, 0, 100), "age-4");
        assert_eq!(age_class(50, 0, 100), "age-2");
        assert_eq!(age_class(0, 0, 100), "age-0");
        assert_eq!((age_class(7, 7, 7), age_class(i64::MAX, i64::MIN, i64::MAX)), ("age-0", "age-4"));
    }
}
