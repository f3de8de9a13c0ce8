//! The labels that a project without labels can start with.

use holdfast_domain::planning::{Color, LabelTitle};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::planning::label::{self, Attributes};

use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Result, access};

/// Title, color and description of each label. The colors are those of the status colors of the web interface.
const LABELS: &[(&str, &str, &str)] = &[
    ("bug", "#d5483c", "Something does not work as documented"),
    ("documentation", "#5f6e75", "Documents and help texts"),
    ("enhancement", "#0d7a94", "Something new, or something better"),
    ("question", "#6741b3", "Needs an answer, not a change"),
    ("ready", "#2f9e57", "Can be started"),
    ("in progress", "#1d6fd1", "Somebody works on it"),
    ("review", "#c98a00", "Waits for a review"),
];

/// Creates the default labels in a project that has none, and returns whether it had none.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef) -> Result<bool> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageLabels).await?;
    if label::exists_any(&mut transaction, project.id).await? {
        return Ok(false);
    }
    let invalid = |text: String| Error::Internal(text.into());
    for (title, color, description) in LABELS {
        let attributes = Attributes {
            title: LabelTitle::parse(title).map_err(invalid)?,
            color: Color::parse(color).map_err(invalid)?,
            description: Some((*description).to_owned()),
            priority: None,
        };
        label::insert(&mut transaction, project.id, &attributes, app.clock.now()).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(true)
}
