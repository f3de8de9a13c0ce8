//! The texts that name branches and tags in the addresses of pages. They are short names, unless another ref would be
//! found by the same address.

use std::sync::Arc;

use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::projects::project::Project;
use holdfast_store::repository::snapshot::Snapshot;

use crate::{Actor, App, Result, access};

/// The refs of a project, as far as the viewer may see them. There are none by default.
#[derive(Clone, Default)]
pub struct RefAddresses(Option<Arc<Snapshot>>);

impl RefAddresses {
    pub(crate) fn new(refs: Arc<Snapshot>) -> Self {
        Self(Some(refs))
    }

    /// Loads the refs of a project that the actor has been authorized to read. They are empty if the actor may not read
    /// its code.
    pub(crate) async fn load(app: &App, actor: &Actor, project: &Project) -> Result<Self> {
        if !access::is_authorized(actor, project, ProjectAction::ReadCode) {
            return Ok(Self(None));
        }
        let (state, snapshots) = (&project.repository, &app.git_runtime.snapshots);
        let refs = snapshots.get_or_load(&app.database, state.id, state.generation, state.head.as_deref()).await?;
        Ok(Self::new(refs))
    }

    /// Returns whether the viewer may read the code of the project.
    pub fn is_code_readable(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the text that names a branch. Returns None if it does not exist.
    pub fn branch(&self, name: &str) -> Option<String> {
        let refs = self.0.as_ref()?;
        refs.find(&format!("refs/heads/{name}"))?;
        Some(branch_address(&**refs, name))
    }

    /// Returns the text that names a tag. Returns None if it does not exist.
    pub fn tag(&self, name: &str) -> Option<String> {
        let refs = self.0.as_ref()?;
        refs.find(&format!("refs/tags/{name}"))?;
        // A tag is preferred to a branch of the same name, but not to one with a longer name.
        let is_hidden = has_refs_below(&**refs, "refs/heads", name);
        Some(if is_hidden { format!("refs/tags/{name}") } else { name.to_owned() })
    }
}

/// The default branch of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DefaultBranch {
    pub name: String,
    /// The text that names it in addresses.
    pub address: String,
}

impl DefaultBranch {
    /// Returns the default branch, if it exists.
    pub(crate) fn find(refs: &Snapshot) -> Option<Self> {
        refs.head_target()?;
        let name = refs.head().strip_prefix("refs/heads/")?;
        Some(Self { name: name.to_owned(), address: branch_address(refs, name) })
    }
}

/// Returns the text that names an existing branch.
pub(crate) fn branch_address(refs: &impl RefLookup, name: &str) -> String {
    let is_hidden = refs.find(&format!("refs/tags/{name}")).is_some() || has_refs_below(refs, "refs/tags", name);
    if is_hidden { format!("refs/heads/{name}") } else { name.to_owned() }
}

fn has_refs_below(refs: &impl RefLookup, kind: &str, name: &str) -> bool {
    refs.iter_with_prefix(&format!("{kind}/{name}/")).next().is_some()
}
