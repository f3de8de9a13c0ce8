//! The ref log: every update of every branch and tag.

use askama::Template;
use chrono::{DateTime, NaiveDate, Utc};
use holdfast_app::repository::browse::range_diff::ObjectId;
use holdfast_app::repository::refs::ref_log::{HistoryChange, RefLogPage, RefLogRow};

use super::commit_line::short_id;
use crate::abilities::Abilities;
use crate::icons::{self, Icon};
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, Person, ProjectLinks, links};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "repository/refs.html")]
pub struct RefsPage {
    pub layout: Layout,
    pub url: String,
    /// The ref whose updates are shown, or an empty text for all.
    pub ref_name: String,
    pub restore_days: i64,
    pub restore_url: String,
    pub days: Vec<UpdateDay>,
    pub pages: Pages,
}

/// The updates of one day, newest first.
pub struct UpdateDay {
    pub date: String,
    pub updates: Vec<UpdateRow>,
}

/// An update of a ref.
pub struct UpdateRow {
    pub icon: Icon,
    /// What precedes the name of the ref: `tag`, or an empty text.
    pub kind: &'static str,
    /// The short name of a branch or tag, or the full name of another ref.
    pub name: String,
    /// The address of the log of this ref.
    pub log_url: String,
    pub action: &'static str,
    pub old: Option<CommitId>,
    pub new: Option<CommitId>,
    pub channel: String,
    pub user: Option<Person>,
    pub time: Time,
    pub compare_url: Option<String>,
    pub range_diff_url: Option<String>,
    /// What the form that restores the old value sends.
    pub restore: Option<RestoreForm>,
}

/// A shortened id, with an address if the commit can be shown.
pub struct CommitId {
    pub short_id: String,
    pub url: Option<String>,
}

/// The full name of a ref, and the generation of the update before which its value is restored.
pub struct RestoreForm {
    /// The id of the element with the question.
    pub id: String,
    pub name: String,
    pub generation: i64,
    /// What is asked before the ref is moved. None for a deleted ref, which loses nothing by the restore.
    pub question: Option<String>,
}

/// Builds the ref log. `ref_name` is the name that was entered to filter it.
pub fn refs_page(
    layout: Layout,
    abilities: Abilities,
    found: &RefLogPage,
    ref_name: &str,
    now: DateTime<Utc>,
) -> RefsPage {
    let project_links = ProjectLinks::new(&found.project.full_path());
    let mut layout = project_frame(layout, &found.project, abilities, ProjectTab::RefLog);
    layout.title = format!("Ref log · {}", found.project.full_path());
    let mut days: Vec<(NaiveDate, UpdateDay)> = Vec::new();
    for (index, row) in found.entries.items.iter().enumerate() {
        let date = row.entry.created_at.date_naive();
        let update = update_row(row, index, &project_links, now);
        match days.last_mut() {
            Some((day, group)) if *day == date => group.updates.push(update),
            _ => days.push((date, UpdateDay { date: words::date(date), updates: vec![update] })),
        }
    }
    RefsPage {
        layout,
        url: project_links.refs(),
        ref_name: ref_name.to_owned(),
        restore_days: found.restore_period.num_days(),
        restore_url: project_links.restore_ref(),
        days: days.into_iter().map(|(_, day)| day).collect(),
        pages: Pages::new(&found.entries, &project_links.refs(), &[("ref", ref_name)]),
    }
}

/// Builds the row of an update. `index` is its position on the page.
fn update_row(row: &RefLogRow, index: usize, project_links: &ProjectLinks, now: DateTime<Utc>) -> UpdateRow {
    let entry = &row.entry;
    let (kind, name) = match (entry.name.strip_prefix("refs/heads/"), entry.name.strip_prefix("refs/tags/")) {
        (Some(branch), _) => ("", branch),
        (_, Some(tag)) => ("tag", tag),
        _ => ("", entry.name.as_str()),
    };
    let (icon, action) = match (entry.old, entry.new, row.change) {
        (None, _, _) if kind == "tag" => (icons::TAG.colored("violet"), "created"),
        (None, _, _) => (icons::BRANCH.colored("ok"), "created"),
        (_, None, _) => (icons::DELETE.colored("bad"), "deleted"),
        (_, _, Some(HistoryChange::Forced)) => (icons::RETRY.colored("wait"), "force-pushed"),
        _ => (icons::COMMIT.colored("ok"), "updated"),
    };
    let generation = entry.generation.to_string();
    let update = links::query(&[("update", &generation)]);
    let commit = |id: Option<_>| {
        let id = id.map(|id: ObjectId| id.to_string())?;
        let url = row.is_retained.then(|| format!("{}{update}", project_links.commit(&id)));
        Some(CommitId { short_id: short_id(&id).to_owned(), url })
    };
    let values = entry.old.zip(entry.new).filter(|_| row.is_retained && row.change.is_some());
    let values = values.map(|(old, new)| (old.to_string(), new.to_string()));
    let is_forced = row.change == Some(HistoryChange::Forced);
    let range_diff = |(old, new): &(String, String)| format!("{}{update}", project_links.range_diff(old, new));
    let subject = if kind.is_empty() { name.to_owned() } else { format!("{kind} {name}") };
    let question = |(old, new): (ObjectId, ObjectId)| {
        let [old, new] = [old, new].map(|id| short_id(&id.to_string()).to_owned());
        format!("Move {subject} from {new} back to {old}?")
    };
    UpdateRow {
        icon,
        kind,
        name: name.to_owned(),
        log_url: format!("{}{}", project_links.refs(), links::query(&[("ref", &entry.name)])),
        action,
        old: commit(entry.old),
        new: commit(entry.new),
        channel: entry.channel.clone(),
        user: entry.user.as_ref().map(|user| Person::with_account(&user.name, &user.username)),
        time: Time::age(entry.created_at, now),
        compare_url: values.as_ref().map(|(old, new)| format!("{}{update}", project_links.compare(old, "...", new))),
        range_diff_url: values.as_ref().filter(|_| is_forced).map(range_diff),
        restore: row.can_restore.then(|| RestoreForm {
            id: format!("restore-{index}"),
            name: entry.name.clone(),
            generation: entry.generation,
            question: entry.old.zip(entry.new).map(question),
        }),
    }
}
