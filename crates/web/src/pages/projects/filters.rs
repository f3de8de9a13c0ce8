//! The filters of lists of projects, from the address to the input of the use case.

use holdfast_app::projects::list::{ListProjects, Order, SortKey};
use holdfast_domain::Visibility;
use holdfast_http_core::params;

use crate::views::projects::list::ProjectFilters;

params! {
    #[derive(Default)]
    pub struct ProjectFilterParams {
        /// A part of the name.
        optional search: String,
        /// `activity`, `name` or `created`.
        optional order: String,
        /// `public`, `internal` or `private`.
        optional visibility: String,
    }
}

impl ProjectFilterParams {
    fn visibility(&self) -> Option<Visibility> {
        let word = self.visibility.as_deref()?;
        Visibility::ALL.into_iter().find(|visibility| visibility.as_str() == word)
    }

    fn order(&self) -> Order {
        let (sort_key, descending) = match self.order.as_deref() {
            Some("name") => (SortKey::Name, false),
            Some("created") => (SortKey::CreatedAt, true),
            _ => (SortKey::LastActivityAt, true),
        };
        Order { sort_key, descending, builds_first: false }
    }

    /// Returns the filters as the page shows them. Unknown words are left out.
    pub fn to_view(&self) -> ProjectFilters {
        let order = self.order.as_deref().filter(|word| matches!(*word, "name" | "created"));
        ProjectFilters {
            search: self.search.clone().unwrap_or_default(),
            order: order.unwrap_or_default().to_owned(),
            visibility: self.visibility().map(|visibility| visibility.as_str().to_owned()).unwrap_or_default(),
        }
    }

    /// Returns the input of the use case that lists projects.
    pub fn into_input(self) -> ListProjects {
        ListProjects {
            archived: None,
            visibility: self.visibility(),
            order: self.order(),
            search: self.search.filter(|search| !search.is_empty()),
        }
    }
}
