//! Ref updates with what follows from them: events, closed issues and pipelines.

use holdfast_git::reader::Reader;
use holdfast_store::repository::ref_update::RefUpdate;

use super::push_event::AddedCommits;
use crate::Result;
use crate::repository::browse::ci_file;
use crate::repository::open_repository::OpenRepository;

/// Maximum number of updates of a batch whose commits are counted and listed: more could take minutes.
const MAX_REFS_WITH_COMMITS: usize = 20;

/// A ref update that is to be applied.
pub struct PlannedUpdate {
    pub update: RefUpdate,
    /// What its event lists. Empty if the update adds no commits, or is one of many.
    pub commits: AddedCommits,
    /// Whether a job checks for a CI file and creates a pipeline.
    pub may_get_pipeline: bool,
}

impl From<RefUpdate> for PlannedUpdate {
    /// Plans an update that adds no commits and gets no pipeline.
    fn from(update: RefUpdate) -> Self {
        Self { update, commits: AddedCommits::default(), may_get_pipeline: false }
    }
}

impl PlannedUpdate {
    /// Plans updates that may add commits, and reads these. [`read_ci_file`](Self::read_ci_file) decides about pipelines.
    pub fn read_all(reader: &Reader, repository: &OpenRepository, updates: Vec<RefUpdate>) -> Result<Vec<Self>> {
        let head = repository.refs.head_target();
        let mut planned: Vec<Self> = updates.into_iter().map(Self::from).collect();
        for it in planned.iter_mut().take(MAX_REFS_WITH_COMMITS) {
            it.commits = AddedCommits::read(reader, &it.update, head)?;
        }
        Ok(planned)
    }

    /// Sets whether the update may get a pipeline: if it sets a branch or a tag to a commit that may have a CI file.
    pub fn read_ci_file(&mut self, reader: &Reader) -> Result<()> {
        let name = &self.update.name;
        if let Some(new) = self.update.new.filter(|_| name.as_branch().or(name.as_tag()).is_some()) {
            self.may_get_pipeline = ci_file::may_exist_at(reader, new.peeled_or_self())?;
        }
        Ok(())
    }
}
