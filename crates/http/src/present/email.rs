//! Presents the secondary e-mail addresses of a user.

use holdfast_app::accounts::email::Email;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct EmailBody {
    pub id: i64,
    pub email: String,
}

pub fn present_email(email: Email) -> EmailBody {
    EmailBody { id: email.id.get(), email: email.email }
}
