//! Documents that are printed from the code, so that they cannot disagree with it.

use holdfast_http::{api, openapi, routes};

use super::print;
use crate::configuration::Configuration;

pub fn routes() -> anyhow::Result<()> {
    print(routes::to_text(api::v3::routes().list()))
}

pub fn openapi(configuration: &Configuration) -> anyhow::Result<()> {
    let site = configuration.site()?;
    print(openapi::document(api::v3::routes().list(), &site).as_str())
}

pub fn permissions() -> anyhow::Result<()> {
    print(holdfast_domain::policy::to_markdown())
}
