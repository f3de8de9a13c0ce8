//! Discussions beside the lines that they are about, and the review of the viewer.

use askama::Template;
use holdfast_app::merge_requests::page::{LineDiscussion, RequestChanges};
use holdfast_app::merge_requests::review::{DraftNote, DraftPlace};
use holdfast_domain::ids::MergeRequestVersionId;

use super::discussion::{DiscussionContext, DiscussionView};
use crate::views::planning::comment_form::CommentForm;
use crate::views::planning::issue::EntryContent;
use crate::views::prose::Prose;
use crate::views::repository::diff_notes::{CommentableLines, DiffLine, DiffNotes};
use crate::views::{ProjectLinks, links as page_links};
use crate::words;

/// The review of the viewer, which was not submitted.
#[derive(Clone, Debug)]
pub struct ReviewView {
    /// The number of its comments, with their noun.
    pub count: String,
    /// The address that submits it.
    pub action: String,
    pub drafts: Vec<DraftView>,
}

/// A comment of the review.
#[derive(Clone, Debug)]
pub struct DraftView {
    pub anchor: String,
    /// The file and line with their address, unless it is a reply.
    pub line: Option<(String, String)>,
    pub body: String,
    pub text: Option<Prose>,
    /// The address that saves it.
    pub action: String,
}

/// Builds the view of the review. Returns None if it has no comments.
pub fn review_view<R: Fn(&str) -> Option<String>>(
    found: &RequestChanges,
    context: &DiscussionContext<'_, R>,
) -> Option<ReviewView> {
    let (iid, links) = (context.iid, context.links);
    let number_of = |id: MergeRequestVersionId| found.page.versions.iter().find(|version| version.id == id);
    let line = |draft: &DraftNote| match &draft.place {
        DraftPlace::Discussion(_) => None,
        DraftPlace::Line(position) => {
            let version = number_of(position.version).map(|version| version.number.to_string()).unwrap_or_default();
            let query = page_links::query(&[("version", &version), ("file", &position.line.path)]);
            let name = format!("{}:{}", position.line.path, position.line.number);
            Some((name, format!("{}{query}", links.merge_request_page(iid, "changes"))))
        }
    };
    let view = |draft: &DraftNote| DraftView {
        anchor: format!("draft_{}", draft.id),
        line: line(draft),
        body: draft.body.clone(),
        text: Prose::new(&draft.body, (context.render)(&draft.body)),
        action: links.draft_note(iid, draft.id),
    };
    let drafts: Vec<DraftView> = found.drafts.iter().map(view).collect();
    (!drafts.is_empty()).then(|| ReviewView {
        count: words::comments(drafts.len()),
        action: links.merge_request_page(iid, "review"),
        drafts,
    })
}

#[derive(Template)]
#[template(path = "merge_requests/line_discussion.html")]
struct LineDiscussionPart {
    discussion: DiscussionView,
}

#[derive(Template)]
#[template(path = "merge_requests/line_draft.html")]
struct LineDraftPart<'a> {
    draft: &'a DraftView,
}

/// The form that writes about a line.
#[derive(Template)]
#[template(path = "merge_requests/line_form.html")]
pub struct LineFormPart {
    pub line: DiffLine,
    pub action: String,
    pub preview_url: String,
    pub cancel_url: String,
    /// The names and values of fields that are not shown.
    pub hidden: Vec<(&'static str, String)>,
    pub comment: CommentForm,
}

impl LineFormPart {
    /// Creates the form for a line. `fields` are the other parameters of the page that shows it, whose address is `page`.
    pub fn new(
        (links, iid): (&ProjectLinks, i64),
        line: DiffLine,
        fields: Vec<(&'static str, String)>,
        page: String,
        comment: CommentForm,
    ) -> Self {
        let of_line =
            [("line_path", line.path.clone()), ("line", line.number.to_string()), ("side", line.side().to_owned())];
        Self {
            action: links.merge_request_page(iid, "line_notes"),
            preview_url: links.preview(),
            cancel_url: page,
            hidden: fields.into_iter().filter(|(_, value)| !value.is_empty()).chain(of_line).collect(),
            line,
            comment,
        }
    }
}

/// Renders what stands below the lines of a version: discussions, comments of the review, and the form. `back` is the
/// address of the page.
pub fn line_notes<R: Fn(&str) -> Option<String>>(
    found: &RequestChanges,
    context: &DiscussionContext<'_, R>,
    review: Option<&ReviewView>,
    form: Option<LineFormPart>,
    back: &str,
) -> Result<DiffNotes, askama::Error> {
    // Between two versions, the lines before the change are not those of the merge base.
    let is_shown = |is_in_base: bool| !is_in_base || found.since.is_none();
    let mut notes = DiffNotes::new(match (context.viewer.abilities.can_comment_on_merge_requests, found.since) {
        (false, _) => CommentableLines::None,
        (true, Some(_)) => CommentableLines::New,
        (true, None) => CommentableLines::All,
    });
    for LineDiscussion { discussion, line, is_in_base } in found.lines.iter().filter(|line| is_shown(line.is_in_base)) {
        let Some(view) = context.discussion(discussion) else { continue };
        let discussion = DiscussionView { line: None, back: Some(back.to_owned()), ..view };
        notes.add(diff_line(&line.path, line.number, *is_in_base), LineDiscussionPart { discussion }.render()?);
    }
    let drafts = review.map(|review| review.drafts.as_slice()).unwrap_or_default();
    for (draft, view) in found.drafts.iter().zip(drafts) {
        let DraftPlace::Line(position) = &draft.place else { continue };
        if position.version == found.version.id && is_shown(position.is_in_base) {
            let line = diff_line(&position.line.path, position.line.number, position.is_in_base);
            notes.add(line, LineDraftPart { draft: view }.render()?);
        }
    }
    if let Some(form) = form {
        notes.add(form.line.clone(), form.render()?);
    }
    Ok(notes)
}

fn diff_line(path: &str, number: i64, is_old: bool) -> DiffLine {
    DiffLine { path: path.to_owned(), is_old, number: u32::try_from(number).unwrap_or(u32::MAX) }
}
