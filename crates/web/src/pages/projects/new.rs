//! The form that creates a project.

use holdfast_app::Error;
use holdfast_app::namespaces::namespace::{self, Namespace};
use holdfast_app::projects::project::{self, ProjectChanges};
use holdfast_domain::ids::NamespaceId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::{Field, Violations, Visibility};
use holdfast_http_core::{Access, params};
use url::Url;

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::projects::new::{NewProjectValues, new_project_page};

/// Number of namespaces that the form offers.
const MAX_NAMESPACES: i64 = 100;

pub fn declare(pages: &mut Pages) {
    let create_project = Access::Instance(InstanceAction::CreateProject);
    pages.get("/new", create_project, Cost::Cheap, "New project", show).api("GET /namespaces");
    pages.post("/new", create_project, Cost::Normal, "Create a project", create).api("POST /projects");
}

params! {
    struct NewProjectParams {
        /// The namespace that is selected at first. By default the viewer's own.
        optional namespace_id: NamespaceId,
    }
}

params! {
    struct CreateProjectForm {
        optional name: String,
        optional path: String,
        optional description: String,
        optional namespace_id: NamespaceId,
        optional visibility_level: Visibility,
        optional import_url: String,
    }
}

async fn list_namespaces(context: &RequestContext) -> Result<Page<Namespace>, Error> {
    let page = PageRequest::new(None, Some(MAX_NAMESPACES));
    namespace::list(context.app(), &context.actor, None, page).await
}

async fn show(context: RequestContext, params: NewProjectParams) -> PageResult {
    let namespaces = list_namespaces(&context).await?;
    let values = NewProjectValues { namespace: params.namespace_id, ..NewProjectValues::default() };
    respond::html(&new_project_page(context.layout(), &namespaces, values, &Violations::default()))
}

async fn create(context: RequestContext, form: CreateProjectForm) -> PageResult {
    let values = NewProjectValues {
        name: form.name.unwrap_or_default(),
        path: form.path.unwrap_or_default(),
        description: form.description.unwrap_or_default(),
        namespace: form.namespace_id,
        visibility: form.visibility_level.unwrap_or(Visibility::Private),
        import_url: form.import_url.unwrap_or_default(),
    };
    let changes = ProjectChanges {
        name: Field::Value(values.name.clone()),
        path: Field::Value(values.path.clone()),
        description: Field::Value(values.description.clone()),
        visibility: Some(values.visibility),
        import_url: Some(values.import_url.clone()),
        ..ProjectChanges::default()
    };
    let violations = match project::create(context.app(), &context.actor, values.namespace, changes).await {
        Ok(project) => {
            let page = respond::see_other(ProjectLinks::new(&project.full_path()).home());
            let is_imported = !values.import_url.is_empty();
            return Ok(page.with_flash(if is_imported { FlashCode::ImportStarted } else { FlashCode::ProjectCreated }));
        }
        Err(Error::Invalid(violations)) => violations,
        Err(Error::ProjectLimit(limit)) => {
            Violations::single("namespace", format!("has reached your limit of projects, which is {limit}"))
        }
        Err(error) => return Err(error.into()),
    };
    let namespaces = list_namespaces(&context).await?;
    let values = NewProjectValues { import_url: without_credentials(&values.import_url), ..values };
    respond::rejected(&new_project_page(context.layout(), &namespaces, values, &violations))
}

/// Returns an address without the user name and the password in it, which a page does not show. What could contain them
/// and is not an address becomes empty.
fn without_credentials(address: &str) -> String {
    if !address.contains('@') {
        return address.to_owned();
    }
    let clean = |mut url: Url| {
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
        Some(url.to_string())
    };
    Url::parse(address).ok().and_then(clean).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_form_does_not_show_credentials() {
        let cases = [
            ("https://example.com/a.git", "https://example.com/a.git"),
            ("https://ada:secret@example.com/a.git", "https://example.com/a.git"),
            ("https://secret@example.com/a@b.git", "https://example.com/a@b.git"),
            ("ada:secret@example.com:a.git", ""),
            ("https://ada:secret@", ""),
            ("file:///etc", "file:///etc"),
            ("", ""),
        ];
        for (address, expected) in cases {
            assert_eq!(without_credentials(address), expected, "{address}");
        }
    }
}
