//! What the forms that change one file show: the branch, the file, and the branches to which the actor may commit.

use std::sync::Arc;

use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::Rule;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::reader::{EntryKind, TreeEntry};
use holdfast_git::{ObjectId, RefName, SHA1};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::protection;

use crate::repository::browse::{blob, revision, tree};
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::ref_address::branch_address;
use crate::repository::refs::ref_update_policy::RefUpdatePolicy;
use crate::{Actor, App, Error, Resource, Result};

/// Maximum size of a file that is edited as text. Arbitrary; the same as of a file that a page shows.
pub const MAX_TEXT_BYTES: u64 = 512_000;
/// Maximum number of names that are tried for a new branch. Arbitrary.
const MAX_PROPOSED_NAMES: usize = 1000;

/// What the address of a form must name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormSubject {
    File,
    Directory,
    FileOrDirectory,
    /// A file that may have been deleted since the form was opened.
    FormerFile,
}

/// A form that changes one file.
#[derive(Clone, Debug)]
pub struct FileForm {
    pub project: Project,
    pub branch: FormBranch,
    /// The path of the file or of the directory. Empty for the root.
    pub path: String,
    /// None for a directory, and for a file that was deleted.
    pub file: Option<FormFile>,
}

/// The branch from whose last commit a change starts.
#[derive(Clone, Debug)]
pub struct FormBranch {
    pub name: String,
    /// The text that names it in addresses.
    pub address: String,
    /// Whether the repository has no refs, so that the change creates its first branch.
    pub is_first: bool,
    /// Whether the actor may commit to the branch itself.
    pub can_push: bool,
    /// A name for a new branch. None if the actor may not create one.
    pub new_name: Option<String>,
}

/// A file that a form changes.
#[derive(Clone, Debug)]
pub struct FormFile {
    /// The id of the content.
    pub id: ObjectId,
    pub content: FileContent,
}

/// What a file contains, as far as it matters for a text field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    Text(String),
    /// A text of which one line is the path of another file.
    SymbolicLink,
    /// Bytes that are not UTF-8.
    Binary,
    /// The file has more than [`MAX_TEXT_BYTES`].
    TooLarge,
}

/// The place in a repository that the address of a form names.
pub(super) struct Location {
    pub branch: String,
    /// The last commit of the branch. None if the repository has no refs.
    pub tip: Option<ObjectId>,
    pub path: String,
}

impl Location {
    /// Splits an address such as `main/src/lib.rs`. Fails unless it begins with a branch. In a repository without refs it
    /// is the name of the first branch.
    pub fn find(repository: &OpenRepository, address: &str) -> Result<Self> {
        let refs = &*repository.refs;
        if refs.is_empty() {
            let branch = address.trim_matches('/');
            RefName::branch(branch).map_err(|_| Error::NotFound(Resource::Branch))?;
            return Ok(Self { branch: branch.to_owned(), tip: None, path: String::new() });
        }
        let (revision, path) = revision::split_address(refs, address);
        let branch = revision::find_branch(refs, revision).ok_or(Error::NotFound(Resource::Branch))?;
        let tip = refs.find(&format!("refs/heads/{branch}")).map(|target| target.id);
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        Ok(Self { branch: branch.to_owned(), tip, path: names.join("/") })
    }

    /// Returns the file or directory with the path. Every repository has a root directory.
    async fn find_entry(&self, app: &App, repository: &OpenRepository) -> Result<Option<TreeEntry>> {
        let path: Arc<str> = self.path.as_str().into();
        match self.tip {
            Some(tip) => tree::find(app, repository, tip, path).await,
            None => Ok(None),
        }
    }

    /// Returns the file with the path, with its content if it is a text.
    pub async fn find_file(&self, app: &App, repository: &OpenRepository) -> Result<Option<FormFile>> {
        match self.find_entry(app, repository).await? {
            Some(entry) => read_file(app, repository, &entry).await,
            None => Ok(None),
        }
    }
}

/// Returns a form that changes the file, or creates a file in the directory, at an address such as `main/src`.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: &str,
    subject: FormSubject,
) -> Result<FileForm> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let location = Location::find(&repository, address)?;
    let entry = location.find_entry(app, &repository).await?;
    let kind = entry.as_ref().map(TreeEntry::kind);
    let is_directory = location.tip.is_none() || kind == Some(EntryKind::Directory);
    let (is_file, missing) = (kind == Some(EntryKind::File), Error::NotFound(Resource::File));
    match subject {
        FormSubject::File if !is_file => return Err(missing),
        FormSubject::Directory if !is_directory => return Err(Error::NotFound(Resource::Tree)),
        FormSubject::FileOrDirectory if !is_file && !is_directory => return Err(missing),
        _ => {}
    }
    let file = match &entry {
        Some(entry) => read_file(app, &repository, entry).await?,
        None => None,
    };
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let branch = form_branch(actor, &repository, &location, rules);
    Ok(FileForm { branch, path: location.path, file, project: repository.project })
}

fn form_branch(actor: &Actor, repository: &OpenRepository, location: &Location, rules: Vec<Rule>) -> FormBranch {
    let refs = &*repository.refs;
    let policy = RefUpdatePolicy::new(actor, repository, rules);
    let is_first = location.tip.is_none();
    let is_free = |name: &String| refs.find(&format!("refs/heads/{name}")).is_none();
    let new_name = (1..=MAX_PROPOSED_NAMES).map(|number| format!("patch-{number}")).find(is_free);
    FormBranch {
        address: branch_address(refs, &location.branch),
        is_first,
        can_push: can_push(&policy, &location.branch, location.tip),
        new_name: new_name.filter(|name| !is_first && can_push(&policy, name, None)),
        name: location.branch.clone(),
    }
}

/// Returns whether a branch may get a commit. `tip` is its last commit; without one, the branch is created.
pub(super) fn can_push(policy: &RefUpdatePolicy, branch: &str, tip: Option<ObjectId>) -> bool {
    // Which commit follows does not matter for this check.
    let new = Some(tip.unwrap_or(ObjectId::null(SHA1)));
    let command = PushCommand { name: format!("refs/heads/{branch}").into_bytes(), old: tip, new };
    policy.check_name(&command).is_ok()
}

/// Reads a file. Returns None for another entry.
async fn read_file(app: &App, repository: &OpenRepository, entry: &TreeEntry) -> Result<Option<FormFile>> {
    if entry.kind() != EntryKind::File {
        return Ok(None);
    }
    if entry.is_symbolic_link() {
        return Ok(Some(FormFile { id: entry.id, content: FileContent::SymbolicLink }));
    }
    let (_, content) = blob::read_buffered(app, repository, entry.id, MAX_TEXT_BYTES).await?;
    let content = match content.map(|bytes| String::from_utf8(bytes.into())) {
        None => FileContent::TooLarge,
        Some(Ok(text)) if !text.contains('\0') => FileContent::Text(text),
        Some(_) => FileContent::Binary,
    };
    Ok(Some(FormFile { id: entry.id, content }))
}
