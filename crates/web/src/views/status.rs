//! The status of something as an icon with a word, and that of pipelines and builds.

use holdfast_app::ci::build::Build;
use holdfast_domain::ci::Status;
use holdfast_domain::ci::file::When;

use crate::icons::{self, Icon};

/// A status with its shape, color and word. Shape and word tell it without the color.
#[derive(Clone, Copy, Debug)]
pub struct StatusView {
    pub icon: Icon,
    /// The class of the status color.
    pub color: &'static str,
    pub text: &'static str,
}

impl StatusView {
    pub(super) const fn new(icon: Icon, color: &'static str, text: &'static str) -> Self {
        Self { icon: icon.colored(color), color, text }
    }

    /// Returns the icon with the word as its name, for places where the word is not beside it.
    pub const fn named_icon(&self) -> Icon {
        self.icon.named(self.text)
    }

    /// Returns the status of a build. A skipped build that a user may start is shown as manual, and a build that may
    /// fail shows a warning instead of a failure.
    pub fn for_build(build: &Build) -> Self {
        match build.status {
            Status::Skipped if build.run_when == When::Manual => Self::new(icons::MANUAL, "violet", "manual"),
            Status::Failed if build.allow_failure => Self::new(icons::WARNING_PASSED, "wait", "failed, allowed"),
            status => status.into(),
        }
    }
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        match status {
            Status::Created => Self::new(icons::CREATED, "off", "created"),
            Status::Pending => Self::new(icons::PENDING, "wait", "pending"),
            Status::Running => Self::new(icons::RUNNING, "run", "running"),
            Status::Success => Self::new(icons::PASSED, "ok", "passed"),
            Status::Failed => Self::new(icons::FAILED, "bad", "failed"),
            Status::Canceled => Self::new(icons::CANCELED, "off", "canceled"),
            Status::Skipped => Self::new(icons::SKIPPED, "off", "skipped"),
        }
    }
}
