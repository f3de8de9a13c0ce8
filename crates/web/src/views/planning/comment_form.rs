//! The form of a comment, and the form that edits one.

use askama::Template;
use holdfast_app::planning::note_form::EditableNote;
use holdfast_domain::Violations;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::prose::Prose;

/// The field of a comment, with its preview.
#[derive(Clone, Debug)]
pub struct CommentForm {
    pub note: FormField,
    pub preview: Option<Prose>,
    pub errors: Vec<FormError>,
}

impl CommentForm {
    /// Creates the form with what was entered.
    pub fn new(text: &str, violations: &Violations, preview: Option<Prose>) -> Self {
        let note = FormField::new("note", "Comment", text).with_violations(violations);
        let errors = form::errors([&note]);
        Self { note, preview, errors }
    }
}

#[derive(Template)]
#[template(path = "planning/note_form.html")]
pub struct NoteFormPage {
    pub layout: Layout,
    /// The issue or merge request, such as `#7`.
    pub reference: String,
    pub action: String,
    /// The address of the issue or merge request.
    pub target_url: String,
    /// The address of the note on that page.
    pub note_url: String,
    pub preview_url: String,
    /// Whether the text may contain quick actions.
    pub has_actions: bool,
    pub comment: CommentForm,
}

/// Builds the form that edits a note.
pub fn note_form_page(
    layout: Layout,
    abilities: Abilities,
    found: &EditableNote,
    comment: CommentForm,
) -> NoteFormPage {
    let EditableNote { project, issue, note } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Edit a comment · #{} · {}", issue.iid, project.full_path());
    NoteFormPage {
        layout,
        reference: format!("#{}", issue.iid),
        action: links.issue_note_form(issue.iid, note.id),
        target_url: links.issue(issue.iid),
        note_url: links.issue_note(issue.iid, note.id),
        preview_url: links.preview(),
        has_actions: true,
        comment,
    }
}
