//! The section `[web]`.

use holdfast_app::WebSettings;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    pub enabled: bool,
    public_projects: bool,
}

impl Web {
    pub fn settings(&self) -> WebSettings {
        WebSettings { public_projects: self.public_projects }
    }
}
