//! The board of a project: a column for the backlog and for each list, with the cards of their issues.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::board::{BoardCard, BoardList, BoardWithIssues, MAX_SHOWN_CARDS, MAX_SHOWN_LISTS};
use holdfast_app::planning::label::Label;
use holdfast_app::projects::project::Project;
use holdfast_domain::ids::BoardListId;
use sha2::{Digest, Sha256};

use super::label::{LabelChip, LabelChips};
use super::milestone_list::DueDate;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Person, ProjectLinks};
use crate::words;

/// The color of the backlog, which has no label.
const BACKLOG_COLOR: &str = "#7b8a90";

#[derive(Template)]
#[template(path = "planning/board.html")]
pub struct BoardPage {
    pub layout: Layout,
    pub links: ProjectLinks,
    /// The lists with their cards, as HTML that [`BoardPart::render`] has written.
    pub board: String,
    /// The digest of the board, from which the live updates continue.
    pub digest: String,
}

/// The lists with their cards, which the page shows and the live updates replace.
pub struct BoardPart {
    links: ProjectLinks,
    abilities: Abilities,
    columns: Vec<BoardColumn>,
    free_labels: Vec<FreeLabel>,
}

/// The part of the board around the columns.
#[derive(Template)]
#[template(path = "planning/board_part.html")]
struct BoardFrame<'a> {
    links: &'a ProjectLinks,
    abilities: Abilities,
    has_lists: bool,
    /// Whether the board may have more lists than are shown.
    is_full: bool,
    free_labels: &'a [FreeLabel],
    /// The columns as HTML.
    columns: &'a str,
}

/// A label without a list.
#[derive(Clone, Debug)]
pub struct FreeLabel {
    pub id: i64,
    pub title: String,
}

/// A list of the board, or the backlog.
#[derive(Template)]
#[template(path = "planning/board_column.html")]
pub struct BoardColumn {
    /// The id of the list, or an empty text for the backlog.
    pub id: String,
    pub title: String,
    pub color: String,
    pub count: String,
    pub has_more: bool,
    /// The address of all issues of the list, if they have one.
    pub issues_url: Option<String>,
    pub cards: Vec<Card>,
    /// The list as those who may change it see it; None for the backlog.
    pub list: Option<ListControls>,
    /// The columns that a card can be moved to. Empty if the viewer may not move cards.
    pub targets: Vec<MoveTarget>,
    pub move_url: String,
}

/// The controls of a list.
#[derive(Clone, Debug)]
pub struct ListControls {
    /// The address that the forms of the list are sent to.
    pub url: String,
    pub left: Option<i32>,
    pub right: Option<i32>,
    pub can_move: bool,
    pub can_delete: bool,
}

/// A column that a card can be moved to.
#[derive(Clone, Debug)]
pub struct MoveTarget {
    pub id: String,
    pub title: String,
}

/// An issue on the board.
#[derive(Clone, Debug)]
pub struct Card {
    pub iid: i64,
    pub url: String,
    pub title: String,
    pub is_confidential: bool,
    pub labels: Vec<LabelChip>,
    pub due: Option<DueDate>,
    pub note_count: i64,
    pub assignee: Option<Person>,
}

impl BoardPart {
    pub fn new(found: &BoardWithIssues, abilities: Abilities, now: DateTime<Utc>) -> Self {
        let links = ProjectLinks::new(&found.project.full_path());
        let builder = ColumnBuilder { found, abilities, links: &links, now };
        let lists = found.lists.iter().map(|list| builder.column(Some(list)));
        let columns = std::iter::once(builder.column(None)).chain(lists).collect();
        let free_labels = found.free_labels.iter();
        let free_labels = free_labels.map(|label| FreeLabel { id: label.id.get(), title: label.title.clone() });
        Self { abilities, columns, free_labels: free_labels.collect(), links }
    }

    /// Renders the columns and what is around them. Fails only if a value cannot be formatted.
    pub fn render(&self) -> askama::Result<RenderedBoard> {
        let column = |column: &BoardColumn| Ok((column.id.clone(), column.render()?));
        let columns = self.columns.iter().map(column).collect::<askama::Result<Vec<(String, String)>>>()?;
        let list_count = self.columns.len() - 1;
        let html: String = columns.iter().map(|(_, html)| html.as_str()).collect();
        let frame = BoardFrame {
            links: &self.links,
            abilities: self.abilities,
            has_lists: list_count > 0,
            is_full: i32::try_from(list_count).is_ok_and(|count| count >= MAX_SHOWN_LISTS),
            free_labels: &self.free_labels,
            columns: &html,
        };
        Ok(RenderedBoard { html: frame.render()?, columns })
    }
}

/// A board as HTML.
pub struct RenderedBoard {
    html: String,
    /// The id and the HTML of each column.
    columns: Vec<(String, String)>,
}

impl RenderedBoard {
    /// Returns a text that differs for different boards.
    pub fn digest(&self) -> String {
        digest(&self.html)
    }

    /// Returns the id and the digest of each column, and of what is around them.
    pub fn column_digests(&self) -> Vec<(String, String)> {
        let columns = self.columns.iter().map(|(id, html)| (id.clone(), digest(html)));
        let around = self.columns.iter().fold(self.html.clone(), |rest, (_, html)| rest.replacen(html.as_str(), "", 1));
        columns.chain([("around".to_owned(), digest(&around))]).collect()
    }

    /// Returns the HTML of the columns that have other digests than before, or of the whole board if more has changed.
    /// `after` are the digests of this board.
    pub fn changed_since(&self, before: &[(String, String)], after: &[(String, String)]) -> String {
        let ids = |digests: &[(String, String)]| digests.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
        if ids(before) != ids(after) || before.last() != after.last() {
            return self.html.clone();
        }
        let pairs = self.columns.iter().zip(before.iter().zip(after));
        pairs.filter(|(_, (before, after))| before != after).map(|((_, html), _)| html.as_str()).collect()
    }
}

fn digest(html: &str) -> String {
    hex::encode(&Sha256::digest(html.as_bytes())[..16])
}

/// Builds the columns of a board.
struct ColumnBuilder<'a> {
    found: &'a BoardWithIssues,
    abilities: Abilities,
    links: &'a ProjectLinks,
    now: DateTime<Utc>,
}

impl ColumnBuilder<'_> {
    /// Builds the column of a list, or of the backlog.
    fn column(&self, list: Option<&BoardList>) -> BoardColumn {
        let id = list.map(|list| list.id);
        let chips = LabelChips::new(&self.found.labels, self.links);
        let is_here = |card: &&BoardCard| card.list() == id;
        let cards: Vec<&BoardCard> = self.found.cards.iter().filter(is_here).collect();
        let has_more = cards.len() > MAX_SHOWN_CARDS;
        let shown = cards.len().min(MAX_SHOWN_CARDS);
        let label = |list: &BoardList| self.found.labels.iter().find(|label| label.title == list.title);
        let count = match list.and_then(label) {
            Some(Label { open_issues, .. }) => words::number(*open_issues),
            None if has_more => format!("{}+", words::number(shown)),
            None => words::number(shown),
        };
        let move_target = |list: Option<&BoardList>| MoveTarget { id: column_id(list), title: column_title(list) };
        let targets = std::iter::once(None).chain(self.found.lists.iter().map(Some));
        BoardColumn {
            id: column_id(list),
            title: column_title(list),
            color: list.map_or(BACKLOG_COLOR, |list| &list.color).to_owned(),
            count,
            has_more,
            issues_url: list.map(|list| chips.chip(&list.title).url),
            cards: cards.iter().take(shown).map(|card| self.card(card, list, &chips)).collect(),
            list: list.map(|list| self.controls(list)),
            targets: match self.abilities.can_manage_issues {
                true => targets.filter(|target| target.map(|list| list.id) != id).map(move_target).collect(),
                false => Vec::new(),
            },
            move_url: format!("{}/move", self.links.board()),
        }
    }

    fn controls(&self, list: &BoardList) -> ListControls {
        let last = self.found.lists.last().map_or(0, |list| list.position);
        ListControls {
            url: self.links.board_list(list.id),
            left: (list.position > 0).then(|| list.position - 1),
            right: (list.position < last).then(|| list.position + 1),
            can_move: self.abilities.can_manage_board_lists,
            can_delete: self.abilities.can_delete_board_lists,
        }
    }

    /// Builds a card, without the label of its list.
    fn card(&self, card: &BoardCard, list: Option<&BoardList>, chips: &LabelChips<'_>) -> Card {
        let others = card.labels.iter().filter(|title| list.is_none_or(|list| list.title != **title));
        Card {
            iid: card.iid,
            url: self.links.issue(card.iid),
            title: card.title.clone(),
            is_confidential: card.confidential,
            labels: others.map(|title| chips.chip(title)).collect(),
            due: card.due_date.map(|date| DueDate::of_open(date, self.now)),
            note_count: card.notes_count.into(),
            assignee: card.assignee().map(|(name, username)| Person::with_account(name, username)),
        }
    }
}

fn column_id(list: Option<&BoardList>) -> String {
    list.map(|list| BoardListId::to_string(&list.id)).unwrap_or_default()
}

fn column_title(list: Option<&BoardList>) -> String {
    list.map_or("Backlog", |list| &list.title).to_owned()
}

/// Builds the page of the board.
pub fn board_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    part: &BoardPart,
    rendered: RenderedBoard,
) -> BoardPage {
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Board);
    layout.title = format!("Board · {}", project.full_path());
    let digest = rendered.digest();
    BoardPage { layout, links: part.links.clone(), board: rendered.html, digest }
}
