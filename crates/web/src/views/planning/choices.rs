//! People that forms and filters of issues offer.

use holdfast_app::accounts::user::UserSummary;

/// A person whom a form offers by username.
#[derive(Clone, Debug)]
pub struct PersonChoice {
    pub username: String,
    pub name: String,
}

/// Returns the people whom a form offers.
pub fn people(users: &[UserSummary]) -> Vec<PersonChoice> {
    let choice = |user: &UserSummary| PersonChoice { username: user.username.clone(), name: user.name.clone() };
    users.iter().map(choice).collect()
}
