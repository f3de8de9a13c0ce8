//! The forms that edit, create, upload and delete a file.

use askama::Template;
use holdfast_app::repository::edit::file_form::{FileContent, FileForm, FormSubject};
use holdfast_domain::Violations;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::words;

/// What a form does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormKind {
    Edit,
    New,
    /// Uploads a file into a directory, or another content of a file.
    Upload,
    Delete,
}

impl FormKind {
    pub const fn subject(self) -> FormSubject {
        match self {
            Self::Edit | Self::Delete => FormSubject::File,
            Self::New => FormSubject::Directory,
            Self::Upload => FormSubject::FileOrDirectory,
        }
    }

    const fn heading(self, has_file: bool) -> &'static str {
        match (self, has_file) {
            (Self::Edit, _) => "Edit",
            (Self::New, _) => "New file",
            (Self::Upload, true) => "Replace",
            (Self::Upload, false) => "Upload a file",
            (Self::Delete, _) => "Delete",
        }
    }
}

/// The addresses of the forms that add files to a directory of a branch.
#[derive(Clone, Debug)]
pub struct AdditionLinks {
    pub new_url: String,
    pub upload_url: String,
}

impl AdditionLinks {
    pub fn new(links: &ProjectLinks, revision: &str, directory: &str) -> Self {
        let (new_url, upload_url) = (links.new_file(revision, directory), links.upload_file(revision, directory));
        Self { new_url, upload_url }
    }
}

/// The values of a form: those of the file at first, and those that were entered after a rejection.
#[derive(Clone, Debug, Default)]
pub struct FileFields {
    pub path: String,
    pub content: String,
    pub commit_message: String,
    pub branch: String,
    pub starts_request: bool,
}

impl FileFields {
    /// Returns the values of a form that is opened.
    pub fn new(kind: FormKind, form: &FileForm) -> Self {
        let directory = if form.path.is_empty() { String::new() } else { format!("{}/", form.path) };
        Self {
            path: if form.file.is_some() { form.path.clone() } else { directory },
            content: match form.file.as_ref().map(|file| &file.content) {
                Some(FileContent::Text(text)) if kind == FormKind::Edit => text.clone(),
                _ => String::new(),
            },
            commit_message: match (kind, &form.file) {
                (FormKind::Delete, _) => format!("Delete {}", form.path),
                (_, Some(_)) => format!("Update {}", form.path),
                (_, None) => String::new(),
            },
            branch: if form.branch.can_push { Some(&form.branch.name) } else { form.branch.new_name.as_ref() }
                .cloned()
                .unwrap_or_default(),
            starts_request: !form.branch.can_push,
        }
    }
}

/// What happened to a form that was sent.
#[derive(Default)]
pub struct FormOutcome {
    pub violations: Violations,
    /// Why nothing was committed, if that is not about one field.
    pub problem: Option<String>,
    /// The diff of the change, as sections of HTML.
    pub preview: Option<Vec<String>>,
}

#[derive(Template)]
#[template(path = "repository/file_form.html")]
pub struct FileFormPage {
    pub layout: Layout,
    pub heading: &'static str,
    /// The path of the file that is changed, or an empty text for a new one.
    pub path: String,
    pub cancel_url: String,
    pub problem: Option<String>,
    pub preview: Option<Vec<String>>,
    pub body: FormBody,
}

/// The form, or why there is none.
pub enum FormBody {
    Fields(Box<FormFields>),
    /// The actor may not commit to the branch and may not create one.
    NoBranch(String),
    /// The file cannot be edited as text. The address is that of the form that replaces it.
    NotText(&'static str, Option<String>),
}

/// The fields of a form.
pub struct FormFields {
    pub action: String,
    pub errors: Vec<FormError>,
    pub path: Option<FormField>,
    pub path_help: &'static str,
    pub content: Option<FormField>,
    pub upload: Option<FormField>,
    pub upload_help: String,
    pub commit_message: FormField,
    pub message_help: &'static str,
    pub branch: FormField,
    pub branch_help: String,
    /// The id of the content that the user has seen.
    pub known_id: Option<String>,
    /// Whether a merge request is started. None if the viewer may not create one.
    pub request: Option<bool>,
    pub can_preview: bool,
    pub is_deletion: bool,
}

/// Builds the page of a form. `max_bytes` is the maximum size of what it sends.
pub fn file_form_page(
    layout: Layout,
    abilities: Abilities,
    kind: FormKind,
    form: &FileForm,
    fields: FileFields,
    outcome: FormOutcome,
    max_bytes: usize,
) -> FileFormPage {
    let links = ProjectLinks::new(&form.project.full_path());
    let mut layout = project_frame(layout, &form.project, abilities, ProjectTab::Code);
    let path = if form.file.is_some() { form.path.clone() } else { String::new() };
    let heading = kind.heading(form.file.is_some());
    layout.title = format!("{heading} {path} · {}", form.project.full_path()).replace("  ", " ");
    let address = &form.branch.address;
    let cancel_url = match (form.branch.is_first, &form.file) {
        (true, _) => links.home().to_owned(),
        (false, Some(_)) => links.blob(address, &form.path),
        (false, None) => links.tree(address, &form.path),
    };
    let FormOutcome { violations, problem, preview } = outcome;
    let body = match (&form.branch, not_text(kind, form)) {
        (branch, _) if !branch.can_push && branch.new_name.is_none() => FormBody::NoBranch(branch.name.clone()),
        (_, Some(reason)) => {
            let is_link = form.file.as_ref().is_some_and(|file| file.content == FileContent::SymbolicLink);
            FormBody::NotText(reason, (!is_link).then(|| links.upload_file(address, &form.path)))
        }
        (_, None) => {
            let fields = form_fields(&links, abilities, kind, form, fields, &violations);
            let upload_help = format!("At most {}. Push larger files with git.", words::size(max_bytes as u64));
            FormBody::Fields(Box::new(FormFields { upload_help, ..fields }))
        }
    };
    FileFormPage { layout, heading, path, cancel_url, problem, preview, body }
}

/// Returns why a file cannot be edited or replaced.
fn not_text(kind: FormKind, form: &FileForm) -> Option<&'static str> {
    match (kind, &form.file.as_ref()?.content) {
        (FormKind::Edit | FormKind::Upload, FileContent::SymbolicLink) => {
            Some("This is a symbolic link. Change it with git.")
        }
        (FormKind::Edit, FileContent::Binary) => Some("This file is not a text in UTF-8."),
        (FormKind::Edit, FileContent::TooLarge) => Some("This file is too large to be edited here."),
        _ => None,
    }
}

fn form_fields(
    links: &ProjectLinks,
    abilities: Abilities,
    kind: FormKind,
    form: &FileForm,
    fields: FileFields,
    violations: &Violations,
) -> FormFields {
    let (branch, has_file) = (&form.branch, form.file.is_some());
    let field = |name, label, value: String| FormField::new(name, label, value).with_violations(violations);
    let has_path = match kind {
        FormKind::Edit | FormKind::New => true,
        FormKind::Upload => !has_file,
        FormKind::Delete => false,
    };
    let path = has_path.then(|| field("path", "Path", fields.path));
    let content = matches!(kind, FormKind::Edit | FormKind::New).then(|| field("content", "Text", fields.content));
    let upload = (kind == FormKind::Upload).then(|| field("file", "File", String::new()));
    let commit_message = field("commit_message", "Commit message", fields.commit_message);
    let target = field("branch", "Branch", fields.branch);
    let shown = [path.as_ref(), content.as_ref(), upload.as_ref(), Some(&commit_message), Some(&target)];
    let action = match kind {
        FormKind::Edit => links.edit_file(&branch.address, &form.path),
        FormKind::New => links.new_file(&branch.address, &form.path),
        FormKind::Upload => links.upload_file(&branch.address, &form.path),
        FormKind::Delete => links.delete_file(&branch.address, &form.path),
    };
    FormFields {
        action,
        errors: form::errors(shown.into_iter().flatten()),
        path,
        path_help: match kind {
            FormKind::Edit => "Another path moves the file.",
            FormKind::Upload => "The path of a directory, with a slash at its end, keeps the name of the file.",
            FormKind::New | FormKind::Delete => "The name of the file with its directories, such as docs/guide.md.",
        },
        content,
        upload,
        upload_help: String::new(),
        commit_message,
        message_help: if has_file { "" } else { "Empty: Add, with the path of the file." },
        branch: target,
        branch_help: match (branch.is_first, branch.can_push) {
            (true, _) => "The commit creates this branch, which becomes the default one.".to_owned(),
            (false, true) => format!("Another name creates a branch that starts at {}.", branch.name),
            (false, false) => {
                format!("You may not push to {}. The commit creates a branch that starts there.", branch.name)
            }
        },
        known_id: form.file.as_ref().map(|file| file.id.to_string()),
        request: (abilities.can_create_merge_requests && !branch.is_first).then_some(fields.starts_request),
        can_preview: kind != FormKind::Upload,
        is_deletion: kind == FormKind::Delete,
    }
}
