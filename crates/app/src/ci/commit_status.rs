//! What builds and other services say of a commit.

use holdfast_domain::Violations;
use holdfast_domain::ci::Status;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_store::ci::build::{self, External};
use holdfast_store::ci::build_list::{self, Build, Of};
use holdfast_store::commit;

use super::course::Course;
use super::creation;
use crate::projects::project::ProjectRef;
use crate::repository::fetch::{self, Opened};
use crate::repository::{ci_file, revision, statuses};
use crate::{Actor, App, Error, Result, Thing};

#[derive(Clone, Debug, Default)]
pub struct ListStatuses {
    pub ref_name: Option<String>,
    pub stage: Option<String>,
    pub name: Option<String>,
    /// Older ones of the same name, too.
    pub all: bool,
}

pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    input: ListStatuses,
    page: PageRequest,
) -> Result<Page<Build>> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadBuilds).await?;
    let sha = revision::resolve(app, &opened, revision).await?.ok_or(Error::NotFound(Thing::Commit))?.to_string();
    let ListStatuses { ref_name, stage, name, all } = input;
    let of = Of::Statuses { sha, ref_name, stage, name, all };
    Ok(build_list::list(&app.database, opened.project.id, &of, page, app.clock.now()).await?)
}

#[derive(Clone, Debug)]
pub struct SetStatus {
    pub status: Status,
    pub ref_name: Option<String>,
    pub name: Option<String>,
    pub target_url: Option<String>,
    pub description: Option<String>,
    pub coverage: Option<f64>,
}

/// Of one commit and ref, builds included.
const MOST: usize = 1000;

pub async fn set(app: &App, actor: &Actor, project: &ProjectRef, sha: &str, input: SetStatus) -> Result<Build> {
    let opened = fetch::open(app, actor, project, ProjectAction::ManageBuilds).await?;
    let found = revision::resolve(app, &opened, sha).await?;
    let id = found.ok_or(Error::NotFound(Thing::Commit))?;
    let name = input.name.as_deref().unwrap_or("default");
    let mut violations = Violations::default();
    violations.check_line("name", name);
    violations.check_length("description", input.description.as_deref().unwrap_or_default(), 10_000);
    if let Some(url) = &input.target_url {
        let is_url = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_url || url.len() > 2000 {
            violations.add("target_url", "must be a valid URL");
        }
    }
    violations.into_result()?;
    let user = actor.caller()?.account.id();
    let place = place(app, &opened, id, input.ref_name.as_deref()).await?;
    let (facts, _) = ci_file::load(app, &opened, id).await?.ok_or(Error::NotFound(Thing::Commit))?;
    let at = (place.0.as_str(), place.1);
    let pipeline = creation::for_statuses(app, opened.project.id, Some(user), at, &facts).await?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let course = Course::open(&mut transaction, pipeline).await?;
    let known = course.builds().iter().find(|it| it.name == name);
    if known.is_some_and(|it| !it.external) {
        return Err(Violations::of("name", "is that of a build").into());
    }
    if known.is_none() && course.builds().len() >= MOST {
        return Err(Error::Refused(format!("There are {MOST} statuses of this commit already")));
    }
    let said = External {
        name,
        target_url: input.target_url.as_deref(),
        description: input.description.as_deref(),
        coverage: input.coverage,
        user: Some(user),
    };
    let build = match known.filter(|it| it.step.status.is_active()) {
        Some(it) => {
            build::update_external(&mut transaction, it.id, &said).await?;
            it.id
        }
        None => build::insert_external(&mut transaction, opened.project.id, pipeline, &said, now).await?,
    };
    let mut course = Course::open(&mut transaction, pipeline).await?;
    course.set_external(build, input.status, now);
    course.close(app, &mut transaction, now).await?;
    let saved = build_list::find(&mut transaction, opened.project.id, build, now).await?;
    commit(transaction).await?;
    saved.ok_or(Error::NotFound(Thing::Record))
}

/// The ref that is named, or the first branch that holds the commit; and whether it is a tag.
async fn place(app: &App, opened: &Opened, id: ObjectId, named: Option<&str>) -> Result<(String, bool)> {
    let found = match named {
        Some(name) => statuses::is_ref(opened, name),
        None => statuses::first_branch_with(app, opened, id).await?.map(|name| (name, false)),
    };
    found.ok_or(Error::NotFound(Thing::References))
}
