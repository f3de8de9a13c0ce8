//! The job that imports an export.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Utc};
use futures_util::StreamExt;
use holdfast_domain::ids::{JobId, ProjectId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::ImportPhase;
use holdfast_git::ObjectId;
use holdfast_store::projects::gitlab_import::{self, GitlabImport};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::repository;
use holdfast_store::worker::job;
use holdfast_store::{Connection, Transaction, commit};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use super::archive::{self, ArchiveError, BundleLimits, Member};
use super::merge_requests::named_commits;
use super::progress::Progress;
use super::relations::{Record, Records, Relation};
use super::users::{ImportedUsers, SourceUsers};
use crate::projects::upload;
use crate::repository::object_lookup;
use crate::repository::open_repository::open_repository;
use crate::repository::transfer::import::{self, CANCELED};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of records that one transaction imports.
const MAX_BATCH_RECORDS: usize = 50;
/// The number of bytes after which a transaction imports no further record.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Runs an import job and records its result for the user. Only errors that may be temporary are retried.
pub(crate) async fn run(app: &App, id: JobId, project: ProjectId) -> Result<()> {
    let found = gitlab_import::find(&mut *app.database.connection().await?, project, id).await?;
    let result = match found {
        // The project was deleted, or another import of it has started.
        None => Ok(()),
        Some(GitlabImport { users, progress }) => {
            let mut import = Import { app, id, project, progress: from_json(progress)? };
            match import.run(from_json(users)?).await {
                // An error of a worker whose job another one has continued says nothing about the import.
                Err(_) if import.is_superseded().await? => Err(Error::TemporarilyUnavailable(SUPERSEDED)),
                Err(Error::PrunedConcurrently) => {
                    Err(Error::TemporarilyUnavailable("the repository was pruned meanwhile"))
                }
                result => result,
            }
        }
    };
    import::record_result(app, id, project, result.map(|()| None)).await?;
    let archive = gitlab_import::find_archive(&mut *app.database.connection().await?, project, id).await?;
    match archive {
        Some(archive) => upload::remove(app, vec![archive]).await,
        None => Ok(()),
    }
}

/// The reason why a worker stops whose job another one has continued. It is not a success: that would delete the job.
const SUPERSEDED: &str = "another node has continued the import";

fn from_json<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| Error::Internal(error.into()))
}

/// The parts of an archive that are imported, unpacked into a temporary directory. Their names do not depend on the
/// archive.
struct ImportedFiles {
    directory: Arc<tempfile::TempDir>,
}

impl ImportedFiles {
    /// Downloads the archive from the object store and unpacks it.
    async fn download(app: &App, id: JobId, project: ProjectId) -> Result<Self> {
        let archive = gitlab_import::find_archive(&mut *app.database.connection().await?, project, id).await?;
        let content = match &archive {
            Some(archive) => app.objects.get(&archive.object_key).await?,
            None => None,
        };
        let mut content = content.ok_or_else(|| Error::Rejected("The archive was deleted".into()))?;
        let parent = app.git_runtime.cache()?.scratch_dir();
        std::fs::create_dir_all(&parent)?;
        let directory = Arc::new(tempfile::Builder::new().prefix("import-").tempdir_in(parent)?);
        let path = directory.path().join("archive");
        let mut file = tokio::fs::File::create(&path).await?;
        while let Some(bytes) = content.next().await {
            file.write_all(&bytes?).await?;
        }
        file.flush().await?;
        drop(file);
        let files = Self { directory };
        files.unpack(app, path).await?;
        Ok(files)
    }

    async fn unpack(&self, app: &App, archive: PathBuf) -> Result<()> {
        let stop = StopOnDrop::default();
        let (directory, stopped) = (self.directory.clone(), stop.0.clone());
        let limits = BundleLimits {
            bytes: app.git_runtime.settings.pack_limits.max_pack_bytes,
            refs: app.git_runtime.settings.max_refs.saturating_mul(BUNDLE_REFS_PER_REF),
        };
        let unpacking = tokio::task::spawn_blocking(move || {
            let file = File::open(&archive)?;
            let bytes = file.metadata()?.len();
            archive::for_each_member(file, bytes, &stopped, |member, content| {
                let name = match &member {
                    Member::Bundle => {
                        return archive::copy_bundle(
                            content,
                            &mut File::create(directory.path().join(BUNDLE))?,
                            limits,
                        );
                    }
                    Member::Relation(name) => match Relation::from_name(name) {
                        Some(relation) => relation.name(),
                        None => return Ok(()),
                    },
                    _ => return Ok(()),
                };
                std::io::copy(content, &mut File::create(directory.path().join(name))?)?;
                Ok(())
            })?;
            std::fs::remove_file(&archive)?;
            Ok(())
        });
        unpacking.await.map_err(|error| Error::Internal(error.into()))?.map_err(archive_error)
    }

    /// Returns the bundle, or None if the repository was empty.
    fn bundle(&self) -> Option<PathBuf> {
        Some(self.directory.path().join(BUNDLE)).filter(|path| path.exists())
    }

    /// Opens the records of a relation after those that were imported before, or returns None if the archive does not have
    /// the relation.
    async fn open(&self, relation: Relation, skipped: u64) -> Result<Option<Records<File>>> {
        let path = self.directory.path().join(relation.name());
        if !path.exists() {
            return Ok(None);
        }
        let opening = tokio::task::spawn_blocking(move || {
            let mut records = Records::new(relation, File::open(path)?);
            records.skip(skipped)?;
            Ok(records)
        });
        opening.await.map_err(|error| Error::Internal(error.into()))?.map(Some).map_err(archive_error)
    }
}

const BUNDLE: &str = "bundle";
/// How many refs a bundle may have for each ref that a repository may have: merge requests have several each.
const BUNDLE_REFS_PER_REF: usize = 4;

/// Tells a blocking task to stop when the future that waits for it is dropped.
#[derive(Default)]
pub(super) struct StopOnDrop(pub Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An archive that is not valid is an error of the user. An error of the operating system is temporary.
pub(super) fn archive_error(error: ArchiveError) -> Error {
    match error {
        ArchiveError::Io(error) if error.raw_os_error().is_some() => {
            tracing::warn!(%error, "the files of an import cannot be written or read");
            Error::TemporarilyUnavailable("the files of the import cannot be written or read")
        }
        error => Error::Rejected(error.to_string()),
    }
}

/// An import that this worker runs.
struct Import<'a> {
    app: &'a App,
    id: JobId,
    project: ProjectId,
    /// What was recorded last. If something else is recorded, another worker has continued the import.
    progress: Progress,
}

impl Import<'_> {
    /// Imports what is not imported yet.
    async fn run(&mut self, users: SourceUsers) -> Result<()> {
        let Self { app, id, project, .. } = *self;
        if self.progress.step > Relation::ALL.len() {
            return Ok(());
        }
        import::advance(app, id, project, ImportPhase::Receiving, 0).await?;
        let files = ImportedFiles::download(app, id, project).await?;
        if self.progress.step == 0 {
            self.import_repository(&files).await?;
        }
        import::advance(app, id, project, ImportPhase::Storing, 100).await?;
        let mut users = ImportedUsers::load(app, project, users).await?;
        while let Some(relation) = Relation::ALL.get(self.progress.step - 1) {
            self.import_relation(*relation, &files, &mut users).await?;
        }
        Ok(())
    }

    async fn is_superseded(&self) -> Result<bool> {
        let current = gitlab_import::find(&mut *self.app.database.connection().await?, self.project, self.id).await?;
        let current: Option<Progress> = current.map(|it| from_json(it.progress)).transpose()?;
        Ok(current.is_some_and(|current| current != self.progress))
    }

    /// Imports the branches and tags, and the heads of merge requests.
    async fn import_repository(&mut self, files: &ImportedFiles) -> Result<()> {
        let app = self.app;
        let reference = ProjectRef::Id(self.project);
        let repository = open_repository(app, &Actor::Operator, &reference, ProjectAction::Read).await?;
        // Refs that exist were pushed by a user, or created by another worker since the progress was read.
        let is_empty = repository.refs.is_empty();
        let fetched = match files.bundle().filter(|_| is_empty) {
            Some(bundle) => Some(import::fetch_bundle(app, self.id, &repository, &bundle).await?),
            None => None,
        };
        let fetched = fetched.filter(|fetched| fetched.refs() > 0);
        let mut transaction = app.database.begin().await?;
        self.lock_step(&mut transaction).await?;
        let mut progress = Progress { step: 1, ..self.progress.clone() };
        if !is_empty {
            progress.leave_out("refs", "the repository was pushed to before the import began", 1, None);
        }
        let Some(fetched) = fetched else { return self.finish_step(transaction, progress, 0).await };
        progress.leave_out("refs", "the names of refs are not accepted", fetched.rejected_refs() as u64, None);
        progress.add_imported("refs", fetched.refs() as u64);
        let applied = fetched.apply_in(app, &mut transaction, &repository).await?;
        self.finish_step(transaction, progress, 0).await?;
        applied.update_cache(app, &repository).await;
        Ok(())
    }

    /// Locks the project and the progress of its import. Fails if another worker has continued the import.
    async fn lock_step(&self, connection: &mut Connection) -> Result<Project> {
        let (reference, action) = (ProjectRef::Id(self.project), ProjectAction::Read);
        let locked = access::lock_project(self.app, connection, &Actor::Operator, &reference, action).await?;
        let current = gitlab_import::lock_progress(connection, self.project, self.id).await?;
        let current: Progress = from_json(current.ok_or_else(|| Error::Rejected(CANCELED.into()))?)?;
        if current == self.progress { Ok(locked) } else { Err(Error::TemporarilyUnavailable(SUPERSEDED)) }
    }

    /// Records the progress in the transaction of the step, and commits it.
    async fn finish_step(&mut self, mut transaction: Transaction, progress: Progress, records: usize) -> Result<()> {
        let value = serde_json::to_value(&progress).map_err(|error| Error::Internal(error.into()))?;
        gitlab_import::update_progress(&mut transaction, self.project, &value).await?;
        job::advance(&mut transaction, self.id, records as i64).await?;
        commit(transaction).await?;
        self.progress = progress;
        Ok(())
    }

    /// Imports the rest of a relation.
    async fn import_relation(
        &mut self,
        relation: Relation,
        files: &ImportedFiles,
        users: &mut ImportedUsers,
    ) -> Result<()> {
        let app = self.app;
        let reference = ProjectRef::Id(self.project);
        let repository = open_repository(app, &Actor::Operator, &reference, ProjectAction::Read).await?;
        let mut source = files.open(relation, self.progress.line).await?;
        loop {
            let records = next_batch(&mut source).await?;
            let named = named_commits(records.iter().filter_map(|record| match record {
                Record::MergeRequest(record) => Some(&**record),
                _ => None,
            }));
            let commits = object_lookup::find_commits(app, &repository, named).await?;
            let mut transaction = app.database.begin().await?;
            let project = self.lock_step(&mut transaction).await?;
            if matches!(relation, Relation::MergeRequests | Relation::Releases) {
                // Branches and tags stay as they are until the transaction ends.
                let found = repository::lock(&mut transaction, project.repository.id).await?;
                found.ok_or(Error::NotFound(Resource::Project))?;
            }
            users.begin_transaction();
            let progress = self.progress.clone();
            let mut batch = Batch { app, project, users, progress, now: app.clock.now(), commits };
            for record in &records {
                batch.import(&mut transaction, record).await?;
            }
            let mut progress = batch.progress;
            progress.line += records.len() as u64;
            if records.is_empty() {
                (progress.step, progress.line) = (progress.step + 1, 0);
            }
            self.finish_step(transaction, progress, records.len()).await?;
            if records.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Reads the next records. There are none after the last one, or if the archive does not have the relation.
async fn next_batch(source: &mut Option<Records<File>>) -> Result<Vec<Record>> {
    let Some(mut open) = source.take() else { return Ok(Vec::new()) };
    let reading = tokio::task::spawn_blocking(move || {
        let records = open.next_batch(MAX_BATCH_RECORDS, MAX_BATCH_BYTES)?;
        Ok((open, records))
    });
    let read = reading.await.map_err(|error| Error::Internal(error.into()))?;
    let (open, records) = read.map_err(archive_error)?;
    *source = Some(open);
    Ok(records)
}

/// A transaction that imports some records.
pub(super) struct Batch<'a> {
    pub app: &'a App,
    pub project: Project,
    pub users: &'a mut ImportedUsers,
    pub progress: Progress,
    pub now: DateTime<Utc>,
    /// The commits among those of the records that the repository has.
    pub commits: HashSet<ObjectId>,
}

impl Batch<'_> {
    async fn import(&mut self, connection: &mut Connection, record: &Record) -> Result<()> {
        match record {
            Record::Label(record) => self.import_label(connection, record).await,
            Record::Milestone(record) => self.import_milestone(connection, record).await,
            Record::Issue(record) => self.import_issue(connection, record).await,
            Record::MergeRequest(record) => self.import_merge_request(connection, record).await,
            Record::Release(record) => self.import_release(connection, record).await,
            Record::Member(record) => self.import_member(connection, record).await,
        }
    }
}
