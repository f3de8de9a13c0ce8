//! Checks an export and creates the project that it is imported into.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use holdfast_domain::ids::{JobId, UserId};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_domain::text::cut;
use holdfast_domain::{Field, Violations};
use holdfast_store::accounts::user;
use holdfast_store::commit;
use holdfast_store::namespaces::namespace;
use holdfast_store::objects::Bytes;
use holdfast_store::projects::gitlab_import::{self, HighestNumbers};
use holdfast_store::worker::gitlab_import as import_job;

use super::archive::{self, BundleLimits, Member};
use super::progress::Progress;
use super::relations::{Record, Records, Relation};
use super::run::{StopOnDrop, archive_error};
use super::users::{SourceUsers, Usernames};
use crate::projects::project::{self, Project, ProjectChanges, ProjectRef};
use crate::projects::upload::{self, UploadContent};
use crate::{Actor, App, Error, Result, access};

/// Why a part of an export is left out that this server does not import.
const NOT_IMPORTED: &str = "this part of an export is not imported";
/// Maximum size of the description of a project, in characters.
const MAX_DESCRIPTION_CHARS: usize = 2000;
/// The largest number of lines in a list of users. Arbitrary.
const MAX_MAPPED_USERS: usize = 10_000;

/// The archive of an export, in memory or on the disk.
#[derive(Clone, Debug)]
pub enum ArchiveContent {
    Bytes(Bytes),
    File(PathBuf),
}

impl ArchiveContent {
    /// Returns the content and its size.
    fn open(&self) -> std::io::Result<(Box<dyn Read + '_>, u64)> {
        Ok(match self {
            Self::Bytes(bytes) => (Box::new(&bytes[..]), bytes.len() as u64),
            Self::File(path) => {
                let file = File::open(path)?;
                let bytes = file.metadata()?.len();
                (Box::new(file), bytes)
            }
        })
    }
}

/// What an export contains, as far as it is known without importing it.
#[derive(Debug, Default)]
pub struct Inspection {
    /// The numbers of records, and the parts that are not imported.
    pub progress: Progress,
    description: Option<String>,
    highest: HighestNumbers,
    users: SourceUsers,
    usernames: Usernames,
}

/// Reads a whole export and returns what it contains. Fails if it is damaged.
#[crate::boxed]
pub async fn inspect(archive: ArchiveContent) -> Result<Inspection> {
    let stop = StopOnDrop::default();
    let stopped = stop.0.clone();
    let inspecting = tokio::task::spawn_blocking(move || inspect_blocking(&archive, &stopped));
    inspecting.await.map_err(|error| Error::Internal(error.into()))?.map_err(archive_error)
}

fn inspect_blocking(archive: &ArchiveContent, stopped: &Arc<AtomicBool>) -> archive::Result<Inspection> {
    let mut found = Inspection::default();
    let (content, bytes) = archive.open()?;
    archive::for_each_member(content, bytes, stopped, |member, content| {
        match member {
            Member::Version | Member::Ignored => {}
            Member::Bundle => archive::copy_bundle(content, &mut std::io::sink(), BundleLimits::NONE)?,
            Member::Attributes => found.description = archive::read_attributes(content)?.description,
            Member::NotImported(name) => found.progress.leave_out(name, NOT_IMPORTED, 1, None),
            Member::Relation(name) => match Relation::from_name(&name) {
                Some(relation) => found.read_relation(relation, content)?,
                None => found.progress.leave_out(&name, NOT_IMPORTED, archive::count_lines(content)?, None),
            },
        }
        Ok(())
    })?;
    Ok(found)
}

impl Inspection {
    fn read_relation(&mut self, relation: Relation, content: &mut dyn Read) -> archive::Result<()> {
        let mut records = Records::new(relation, content);
        let (mut count, mut notes) = (0, 0);
        while let Some(record) = records.next()? {
            count += 1;
            match &record {
                Record::Issue(issuable) | Record::MergeRequest(issuable) => {
                    notes += issuable.notes.0.len() as u64;
                    self.users.add_note_authors(issuable);
                }
                Record::Member(member) => self.users.add_member(member, &mut self.usernames),
                Record::Label(_) | Record::Milestone(_) | Record::Release(_) => {}
            }
            let highest = match relation {
                Relation::Issues => &mut self.highest.issue,
                Relation::MergeRequests => &mut self.highest.merge_request,
                Relation::Milestones => &mut self.highest.milestone,
                Relation::Labels | Relation::Releases | Relation::Members => continue,
            };
            *highest = (*highest).max(record.number().unwrap_or_default());
        }
        self.progress.fetched.insert(relation.name().to_owned(), count);
        if notes > 0 {
            *self.progress.fetched.entry("notes".into()).or_default() += notes;
        }
        Ok(())
    }
}

/// An export that is to be imported.
#[derive(Clone, Debug)]
pub struct NewImport {
    pub archive: ArchiveContent,
    /// The id or the path of the namespace. Without one, that of the owner.
    pub namespace: Option<String>,
    pub path: String,
    /// The display name. Without one, the path.
    pub name: Option<String>,
    /// The user for whom the project is created, if that is not the current user.
    pub owner: Option<UserId>,
    /// The local users who wrote parts of the export. Only administrators say so.
    pub users: UserMap,
}

/// Pairs of a user of an export and the username of a local user. A user of the export is given by the username, if the
/// user is a member, or by the id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserMap(Vec<(String, String)>);

impl UserMap {
    /// Parses lines such as `alice,anna`. Empty lines and those that begin with `#` are skipped.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut pairs = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pair = line.split_once(',').map(|(source, local)| (source.trim(), local.trim()));
            match pair.filter(|(source, local)| !source.is_empty() && !local.is_empty() && !local.contains(',')) {
                Some((source, local)) => pairs.push((source.to_owned(), local.to_owned())),
                None => return Err(format!("line {} is not of the form SOURCE,LOCAL", index + 1)),
            }
            if pairs.len() > MAX_MAPPED_USERS {
                return Err(format!("has more than {MAX_MAPPED_USERS} users"));
            }
        }
        Ok(Self(pairs))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ids of local users, by the ids in the export.
    async fn resolve(&self, app: &App, usernames: &Usernames) -> Result<BTreeMap<i64, UserId>> {
        let locals: Vec<String> = self.0.iter().map(|(_, local)| local.to_lowercase()).collect();
        let found = user::find_ids_by_username(&mut *app.database.connection().await?, &locals).await?;
        let found: HashMap<String, i64> = found.into_iter().map(|it| (it.username.to_lowercase(), it.id)).collect();
        let mut mapped = BTreeMap::new();
        let mut violations = Violations::default();
        for (source, local) in &self.0 {
            let id = source.parse().ok().or_else(|| usernames.get(&source.to_lowercase()).copied());
            match (id, found.get(&local.to_lowercase())) {
                (Some(id), Some(user)) => _ = mapped.insert(id, UserId::from(*user)),
                (None, _) => violations.add(
                    "users",
                    format!("the export has no member {source}: give users who are not members by their ids"),
                ),
                (_, None) => violations.add("users", format!("there is no user {local} on this server")),
            }
        }
        violations.into_result()?;
        Ok(mapped)
    }
}

/// Creates a project and enqueues the import of an export into it.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, input: NewImport) -> Result<(Project, JobId)> {
    access::authorize_instance(actor, InstanceAction::CreateProject)?;
    if !input.users.is_empty() || input.owner.is_some() {
        access::authorize_instance(actor, InstanceAction::CreateProjectForOthers)?;
    }
    let creator = match input.owner {
        Some(owner) => owner,
        None => actor.current_user()?.account.id(),
    };
    let mut connection = app.database.connection().await?;
    if !actor.is_administrator() {
        project::check_pending_imports(&mut connection, creator, "file").await?;
    }
    let namespace = match &input.namespace {
        None => None,
        Some(text) => {
            let found = namespace::find_id(&mut connection, text).await?;
            Some(found.ok_or_else(|| Violations::single("namespace", "is not valid"))?)
        }
    };
    drop(connection);
    // Before the archive is read, which takes time.
    project::ensure_can_create(app, actor, creator, namespace).await?;
    let Inspection { progress, description, highest, mut users, usernames } =
        self::inspect(input.archive.clone()).await?;
    users.mapped = input.users.resolve(app, &usernames).await?;
    let description = description.filter(|text| !text.is_empty()).map(|text| {
        let end = text.char_indices().nth(MAX_DESCRIPTION_CHARS).map_or(text.len(), |(index, _)| index);
        cut(&text, end).replace('\0', "")
    });
    let changes = ProjectChanges {
        name: Field::Value(input.name.filter(|name| !name.is_empty()).unwrap_or_else(|| input.path.clone())),
        path: Field::Value(input.path),
        description: description.map_or(Field::Absent, Field::Value),
        ..ProjectChanges::default()
    };
    let project = match input.owner {
        Some(owner) => project::create_for(app, actor, owner, namespace, changes).await?,
        None => project::create(app, actor, namespace, changes).await?,
    };
    let content = match input.archive {
        ArchiveContent::Bytes(bytes) => UploadContent::Bytes(bytes),
        ArchiveContent::File(path) => UploadContent::File(path),
    };
    let upload = upload::store(app, &project, creator, "export.tar.gz", content).await?;
    let mut transaction = app.database.begin().await?;
    let reference = ProjectRef::Id(project.id);
    access::lock_project(app, &mut transaction, actor, &reference, ProjectAction::Update).await?;
    gitlab_import::reserve_numbers(&mut transaction, project.id, highest).await?;
    let to_json = |error: serde_json::Error| Error::Internal(error.into());
    let total: u64 = Relation::ALL.iter().filter_map(|it| progress.fetched.get(it.name())).sum();
    let progress = serde_json::to_value(&progress).map_err(to_json)?;
    let users = serde_json::to_value(&users).map_err(to_json)?;
    let (subject, now) = (format!("import into {}", project.full_path()), app.clock.now());
    let job = import_job::enqueue(&mut transaction, project.id, creator, &subject, total as i64, now).await?;
    gitlab_import::insert(&mut transaction, project.id, job, upload.id, &users, &progress).await?;
    commit(transaction).await?;
    Ok((project, job))
}

/// Returns what an import has imported and left out until now. None if the last import of the project was not that of an
/// export.
#[crate::boxed]
pub async fn show_progress(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Option<Progress>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::Update).await?;
    let found = gitlab_import::find_latest_progress(&mut connection, project.id).await?;
    found.map(serde_json::from_value).transpose().map_err(|error| Error::Internal(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_users_are_parsed() {
        let parsed = UserMap::parse("# people\n\nalice, anna\n 102 ,bob\r\n").unwrap();
        assert_eq!(parsed.0, [("alice".into(), "anna".into()), ("102".into(), "bob".into())]);
        for text in ["alice", "alice,", ",anna", "alice,anna,x"] {
            assert_eq!(UserMap::parse(text).unwrap_err(), "line 1 is not of the form SOURCE,LOCAL", "{text}");
        }
    }
}
