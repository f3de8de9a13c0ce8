//! The forms that edit, create, upload and delete a file of a branch, each with one commit.

use futures_util::StreamExt;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::changes::Changes;
use holdfast_app::repository::edit::entered_change::{self, CommittedChange, EnteredChange, FileEdit, UploadedContent};
use holdfast_app::repository::edit::file_form::{self, FileForm, FormSubject};
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::params::UploadedFile;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use super::diff_stream::file_sections;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::{PageError, sentence};
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResponse, PageResult};
use crate::views::ProjectLinks;
use crate::views::links::query;
use crate::views::repository::diff::{DiffAddress, DiffLayout};
use crate::views::repository::diff_notes::DiffNotes;
use crate::views::repository::file_form::{FileFields, FileFormPage, FormKind, FormOutcome, file_form_page};

pub fn declare(pages: &mut Pages) {
    let write = Access::Project(ProjectAction::WriteCode);
    pages
        .get("/:namespace/:project/edit/*rest", write, Cost::Normal, "Edit a file", show_edit)
        .api("GET /projects/:id/repository/files");
    pages
        .post("/:namespace/:project/edit/*rest", write, Cost::Normal, "Commit a text", edit)
        .api("PUT /projects/:id/repository/files");
    pages.get("/:namespace/:project/new/*rest", write, Cost::Normal, "New file", show_new);
    pages
        .post("/:namespace/:project/new/*rest", write, Cost::Normal, "Commit a new file", create)
        .api("POST /projects/:id/repository/files");
    pages.get("/:namespace/:project/upload/*rest", write, Cost::Normal, "Upload a file", show_upload);
    pages
        .post("/:namespace/:project/upload/*rest", write, Cost::Normal, "Commit an uploaded file", upload)
        .api("POST /projects/:id/repository/files");
    pages.get("/:namespace/:project/delete/*rest", write, Cost::Normal, "Delete a file", show_delete);
    pages
        .post("/:namespace/:project/delete/*rest", write, Cost::Normal, "Commit a deletion", delete)
        .api("DELETE /projects/:id/repository/files");
}

async fn show_edit(context: RequestContext, address: RevisionPathParams) -> PageResult {
    show(&context, &address, FormKind::Edit).await
}

async fn show_new(context: RequestContext, address: RevisionPathParams) -> PageResult {
    show(&context, &address, FormKind::New).await
}

async fn show_upload(context: RequestContext, address: RevisionPathParams) -> PageResult {
    show(&context, &address, FormKind::Upload).await
}

async fn show_delete(context: RequestContext, address: RevisionPathParams) -> PageResult {
    show(&context, &address, FormKind::Delete).await
}

async fn show(context: &RequestContext, address: &RevisionPathParams, kind: FormKind) -> PageResult {
    let project = address.project.reference();
    let form = file_form::show(context.app(), &context.actor, &project, &address.rest, kind.subject()).await?;
    ensure_address(context, &form.project)?;
    let fields = FileFields::new(kind, &form);
    respond::html(&page(context, kind, &form, fields, FormOutcome::default()))
}

fn page(
    context: &RequestContext,
    kind: FormKind,
    form: &FileForm,
    fields: FileFields,
    outcome: FormOutcome,
) -> FileFormPage {
    let abilities = Abilities::new(&form.project, &context.actor);
    let layout = context.layout_with_id(form.project.id.get());
    file_form_page(layout, abilities, kind, form, fields, outcome, context.max_form_bytes())
}

params! {
    struct ChangeFile {
        flatten address: RevisionPathParams,
        optional path: String,
        optional content: String,
        optional_file file: UploadedFile,
        optional commit_message: String,
        optional branch: String,
        /// The id of the content that the user has seen.
        optional known_id: String,
        /// Whether a new branch leads to the form of a merge request.
        optional start_request: bool,
        /// Shows what would change, and commits nothing.
        optional preview: String,
    }
}

async fn edit(context: RequestContext, params: ChangeFile) -> PageResult {
    Submission::new(FormKind::Edit, params).send(&context).await
}

async fn create(context: RequestContext, params: ChangeFile) -> PageResult {
    Submission::new(FormKind::New, params).send(&context).await
}

async fn upload(context: RequestContext, params: ChangeFile) -> PageResult {
    Submission::new(FormKind::Upload, params).send(&context).await
}

async fn delete(context: RequestContext, params: ChangeFile) -> PageResult {
    Submission::new(FormKind::Delete, params).send(&context).await
}

/// A form that was sent.
struct Submission {
    kind: FormKind,
    project: ProjectRef,
    /// The branch and the path in the address of the form.
    address: String,
    fields: FileFields,
    upload: Option<UploadedFile>,
    known_id: Option<String>,
    is_preview: bool,
}

impl Submission {
    fn new(kind: FormKind, params: ChangeFile) -> Self {
        let trimmed = |text: Option<String>| text.unwrap_or_default().trim().to_owned();
        Self {
            kind,
            project: params.address.project.reference(),
            address: params.address.rest,
            fields: FileFields {
                path: params.path.unwrap_or_default(),
                content: params.content.unwrap_or_default(),
                commit_message: params.commit_message.unwrap_or_default(),
                branch: trimmed(params.branch),
                starts_request: params.start_request.unwrap_or_default(),
            },
            upload: params.file,
            known_id: params.known_id,
            is_preview: params.preview.is_some(),
        }
    }

    /// Returns the change, for a user who has seen this content of the file.
    fn change(&self, known_id: Option<String>) -> EnteredChange {
        let FileFields { path, content, commit_message, branch, .. } = self.fields.clone();
        let upload = || {
            let uploaded = self.upload.clone();
            uploaded.map(|file| UploadedContent { name: file.name, bytes: file.bytes.into() })
        };
        let edit = match (self.kind, known_id) {
            (FormKind::Edit, known_id) => {
                FileEdit::Update { path, text: content, known_id: known_id.unwrap_or_default() }
            }
            (FormKind::New, _) => FileEdit::Create { path, text: content },
            (FormKind::Upload, Some(known_id)) => FileEdit::Replace { upload: upload(), known_id },
            (FormKind::Upload, None) => FileEdit::Upload { path, upload: upload() },
            (FormKind::Delete, known_id) => FileEdit::Delete { known_id: known_id.unwrap_or_default() },
        };
        EnteredChange { edit, branch, message: commit_message }
    }

    async fn send(self, context: &RequestContext) -> PageResult {
        let (app, actor) = (context.app(), &context.actor);
        let change = self.change(self.known_id.clone());
        let error = if self.is_preview {
            let _permit = context.acquire_heavy_permit().await?;
            match entered_change::preview(app, actor, &self.project, &self.address, change).await {
                Ok(changes) => {
                    let mut form = self.reload(context).await?;
                    self.keep_known_id(&mut form);
                    let preview = Some(render(changes, &form).await);
                    let outcome = FormOutcome { preview, ..FormOutcome::default() };
                    return respond::html(&page(context, self.kind, &form, self.fields, outcome));
                }
                Err(error) => error,
            }
        } else {
            match entered_change::commit(app, actor, &self.project, &self.address, change).await {
                Ok(committed) => return Ok(self.redirect(context, &committed)),
                Err(error) => error,
            }
        };
        self.reject(context, error).await
    }

    /// Loads the form again. The file may have been deleted.
    async fn reload(&self, context: &RequestContext) -> Result<FileForm, Error> {
        let subject = FormSubject::FormerFile;
        file_form::show(context.app(), &context.actor, &self.project, &self.address, subject).await
    }

    fn redirect(&self, context: &RequestContext, committed: &CommittedChange) -> PageResponse {
        let links = ProjectLinks::new(&committed.project.full_path());
        let Some(start) = &committed.start else {
            let page = match &committed.path {
                Some(path) => links.blob(&committed.address, path),
                None => links.tree(&committed.address, ""),
            };
            return respond::see_other(page).with_flash(FlashCode::FileCommitted);
        };
        let can_request = Abilities::new(&committed.project, &context.actor).can_create_merge_requests;
        let page = match &committed.path {
            _ if self.fields.starts_request && can_request => {
                format!("{}{}", links.new_merge_request(), query(&[("source", &committed.branch), ("target", start)]))
            }
            Some(path) => links.blob(&committed.address, path),
            None => links.tree(&committed.address, ""),
        };
        respond::see_other(page).with_flash(FlashCode::FileCommittedToNewBranch)
    }

    async fn reject(self, context: &RequestContext, error: Error) -> PageResult {
        let outcome = match error {
            Error::Conflict(_) => return self.show_conflict(context).await,
            Error::Invalid(violations) => FormOutcome { violations, ..FormOutcome::default() },
            Error::Rejected(text) => FormOutcome { problem: Some(sentence(&text)), ..FormOutcome::default() },
            error @ Error::TooManyUpdates => {
                FormOutcome { problem: Some(sentence(&error.to_string())), ..FormOutcome::default() }
            }
            error => return Err(error.into()),
        };
        let mut form = self.reload(context).await?;
        self.keep_known_id(&mut form);
        respond::rejected(&page(context, self.kind, &form, self.fields, outcome))
    }

    /// Keeps the id of the content that the user has seen. The file may have another one now, and the next attempt must be a
    /// conflict then.
    fn keep_known_id(&self, form: &mut FileForm) {
        if let (Some(file), Some(Ok(id))) = (&mut form.file, self.known_id.as_deref().map(str::parse)) {
            file.id = id;
        }
    }

    /// Responds with the form about the file as it is now, and with the difference between it and what was entered.
    async fn show_conflict(self, context: &RequestContext) -> PageResult {
        let form = self.reload(context).await?;
        let Some(file) = &form.file else { return self.show_deleted(context, form) };
        let mut outcome = FormOutcome::default();
        let what_follows = match self.kind {
            FormKind::Edit => {
                let _permit = context.acquire_heavy_permit().await?;
                let change = self.change(Some(file.id.to_string()));
                let (app, actor) = (context.app(), &context.actor);
                match entered_change::preview(app, actor, &self.project, &self.address, change).await {
                    Ok(changes) => {
                        outcome.preview = Some(render(changes, &form).await);
                        "The changes below lead from the present text to yours, so they undo what others have changed."
                    }
                    Err(Error::Invalid(violations)) => {
                        outcome.violations = violations;
                        "Your text is below."
                    }
                    // The file was changed again, or is no text any more.
                    Err(Error::Rejected(_) | Error::Conflict(_)) => "The difference cannot be shown.",
                    Err(error) => return Err(error.into()),
                }
            }
            FormKind::Upload => "Choose the file again to replace the present content.",
            FormKind::Delete | FormKind::New => "Look at it before you delete it.",
        };
        let changed = format!("{} was changed on {} after you opened the form.", form.path, form.branch.name);
        outcome.problem = Some(format!("{changed} Nothing was committed. {what_follows}"));
        respond::conflict(&page(context, self.kind, &form, self.fields, outcome))
    }

    /// Responds to the change of a file that was deleted with a form that creates it again.
    fn show_deleted(self, context: &RequestContext, form: FileForm) -> PageResult {
        let kind = match self.kind {
            FormKind::Edit | FormKind::New => FormKind::New,
            FormKind::Upload => FormKind::Upload,
            FormKind::Delete => return Err(PageError::from(Error::NotFound(Resource::File))),
        };
        let deleted = format!("{} was deleted from {} after you opened the form.", form.path, form.branch.name);
        let problem = format!("{deleted} Nothing was committed. If you commit, the file is created again.");
        let path = if self.fields.path.is_empty() { form.path.clone() } else { self.fields.path };
        let fields = FileFields { path, ..self.fields };
        // The directory may have been deleted with the file.
        let form = FileForm { path: String::new(), ..form };
        let outcome = FormOutcome { problem: Some(problem), ..FormOutcome::default() };
        respond::conflict(&page(context, kind, &form, fields, outcome))
    }
}

/// Renders a change as sections of HTML.
async fn render(changes: Changes, form: &FileForm) -> Vec<String> {
    let links = ProjectLinks::new(&form.project.full_path());
    let layout = DiffLayout::Unified;
    let address = DiffAddress {
        path: String::new(),
        layout,
        parameters: Vec::new(),
        links,
        revision: None,
        editable_branch: None,
        notes: DiffNotes::default(),
    };
    file_sections(changes, address).collect().await
}
