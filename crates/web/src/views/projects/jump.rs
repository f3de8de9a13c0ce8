//! The suggestions of the command palette.

use askama::Template;
use holdfast_app::accounts::user::User;
use holdfast_app::projects::project::Project;

use crate::icons::{self, Icon};
use crate::views::{ProjectLinks, links};

/// The list, without the frame of a page.
#[derive(Template)]
#[template(path = "projects/jump.html")]
pub struct JumpPart {
    pub suggestions: Vec<Suggestion>,
}

/// A page that the palette leads to.
pub struct Suggestion {
    pub icon: Icon,
    pub text: String,
    /// What is shown beside the text: the name of a user.
    pub detail: String,
    pub url: String,
}

impl Suggestion {
    pub fn from_project(project: &Project) -> Self {
        let path = project.full_path();
        let url = ProjectLinks::new(&path).home().to_owned();
        Self { icon: icons::PROJECT, text: path, detail: String::new(), url }
    }

    pub fn from_user(user: &User) -> Self {
        let (text, url) = (format!("@{}", user.username), links::user(&user.username));
        Self { icon: icons::USER, text, detail: user.name.clone(), url }
    }

    /// Creates the suggestion to search for the text.
    pub fn search(text: &str) -> Self {
        let url = format!("/search{}", links::query(&[("q", text)]));
        Self { icon: icons::SEARCH, text: format!("Search for “{text}”"), detail: String::new(), url }
    }
}
