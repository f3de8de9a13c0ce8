//! The form that edits a comment on a merge request.

use holdfast_app::merge_requests::action::EditableNote;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::planning::comment_form::{CommentForm, NoteFormPage};
use crate::views::projects::frame::{ProjectTab, project_frame};

pub fn request_note_form_page(
    layout: Layout,
    abilities: Abilities,
    found: &EditableNote,
    comment: CommentForm,
) -> NoteFormPage {
    let EditableNote { project, request, note } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::MergeRequests);
    layout.title = format!("Edit a comment · !{} · {}", request.iid, project.full_path());
    NoteFormPage {
        layout,
        reference: format!("!{}", request.iid),
        action: links.merge_request_note_form(request.iid, note.id),
        target_url: links.merge_request(request.iid),
        note_url: links.merge_request_note_on_page(request.iid, note.id, 1),
        preview_url: links.preview(),
        has_actions: false,
        comment,
    }
}
