//! The icons of the interface, inlined into pages as SVG.
//!
//! Each constant is a file in `icons/`, drawn on a grid of 16 pixels in the color of the text around it. A template writes
//! `{{ crate::icons::ISSUE_OPEN }}`, so an unknown name does not compile. An icon beside a text is decoration and hidden
//! from screen readers; an icon that stands alone gets a name with [`Icon::named`].

use std::fmt;

use askama::filters::HtmlSafe;

/// An icon with its size, color and name.
#[derive(Clone, Copy, Debug)]
pub struct Icon {
    document: &'static str,
    is_small: bool,
    /// The class of a status color, or an empty text for the color of the text.
    color: &'static str,
    /// The name for screen readers, or an empty text for decoration.
    name: &'static str,
}

impl Icon {
    const fn new(document: &'static str) -> Self {
        Self { document, is_small: false, color: "", name: "" }
    }

    /// Returns the icon at 14 instead of 16 pixels.
    pub const fn small(self) -> Self {
        Self { is_small: true, ..self }
    }

    /// Returns the icon in a status color: `ok`, `bad`, `run`, `wait`, `off` or `violet`.
    pub const fn colored(self, color: &'static str) -> Self {
        Self { color, ..self }
    }

    /// Returns the icon with a name for screen readers. The name is plain text without characters of markup.
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Returns the shapes inside the SVG element of the file.
    fn shapes(&self) -> &'static str {
        let (_, rest) = self.document.split_once('>').unwrap_or_default();
        rest.rsplit_once("</svg>").unwrap_or_default().0
    }
}

impl fmt::Display for Icon {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("<svg class=\"i")?;
        for class in [if self.is_small { "i-s" } else { "" }, self.color] {
            if !class.is_empty() {
                write!(formatter, " {class}")?;
            }
        }
        formatter.write_str("\" viewBox=\"0 0 16 16\"")?;
        if self.name.is_empty() {
            formatter.write_str(" aria-hidden=\"true\">")?;
        } else {
            write!(formatter, " role=\"img\" aria-label=\"{}\">", self.name)?;
        }
        write!(formatter, "{}</svg>", self.shapes())
    }
}

impl HtmlSafe for Icon {}

/// Declares one constant for each file.
macro_rules! icons {
    ($($constant:ident = $file:literal,)*) => {
        $(pub const $constant: Icon = Icon::new(include_str!(concat!("../icons/", $file, ".svg")));)*
        #[cfg(test)]
        const ALL: &[(&str, Icon)] = &[$(($file, $constant),)*];
    };
}

icons! {
    ACTIVITY = "activity",
    ARCHIVE = "archive",
    ARROW_RIGHT = "arrow-right",
    BOARD = "board",
    BRANCH = "branch",
    CALENDAR = "calendar",
    CANCELED = "canceled",
    CHECK = "check",
    CHEVRON_DOWN = "chevron-down",
    CHEVRON_LEFT = "chevron-left",
    CHEVRON_RIGHT = "chevron-right",
    CLOCK = "clock",
    CODE = "code",
    COMMIT = "commit",
    COPY = "copy",
    CREATED = "created",
    CROSS = "cross",
    DELETE = "delete",
    DOWNLOAD = "download",
    EDIT = "edit",
    EXPAND = "expand",
    FAILED = "failed",
    FILE = "file",
    FILTER = "filter",
    FOLDER = "folder",
    FORK = "fork",
    GROUP = "group",
    HISTORY = "history",
    HOME = "home",
    HOOK = "hook",
    INBOX = "inbox",
    INFO = "info",
    INTERNAL = "internal",
    ISSUE_CLOSED = "issue-closed",
    ISSUE_OPEN = "issue-open",
    KEY = "key",
    LICENSE = "license",
    LINK = "link",
    LOCATION = "location",
    LOCK = "lock",
    MANUAL = "manual",
    MERGE_REQUEST = "merge-request",
    MILESTONE = "milestone",
    MORE = "more",
    NOTE = "note",
    ORGANIZATION = "organization",
    PASSED = "passed",
    PENDING = "pending",
    PIPELINE = "pipeline",
    PLAY = "play",
    PLUS = "plus",
    PROJECT = "project",
    PUBLIC = "public",
    README = "readme",
    RESTORE = "restore",
    RETRY = "retry",
    RUNNER = "runner",
    RUNNING = "running",
    SEARCH = "search",
    SESSION = "session",
    SETTINGS = "settings",
    SHIELD = "shield",
    SIGN_OUT = "sign-out",
    SKIPPED = "skipped",
    STAR = "star",
    STORAGE = "storage",
    SUBMODULE = "submodule",
    SYMLINK = "symlink",
    TAG = "tag",
    TERMINAL = "terminal",
    UPLOAD = "upload",
    USER = "user",
    WARNING = "warning",
    WARNING_PASSED = "warning-passed",
}

/// Returns the icon of a tab, by the label of the tab. Tabs with other labels have none.
pub fn for_tab(label: &str) -> Option<Icon> {
    Some(match label {
        "Dashboard" => INBOX,
        "Code" => CODE,
        "Issues" => ISSUE_OPEN,
        "Merge requests" => MERGE_REQUEST,
        "Board" | "Boards" => BOARD,
        "Pipelines" => PIPELINE,
        "Activity" => ACTIVITY,
        "Ref log" => HISTORY,
        "Settings" => SETTINGS,
        "Projects" => PROJECT,
        "Todos" => CHECK,
        "Members" | "Groups" => GROUP,
        "Profile" => USER,
        "Sessions" => SESSION,
        "Password" | "SSH keys" | "Tokens" => KEY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_icon_has_shapes_and_no_styles() {
        for (file, icon) in ALL {
            assert!(icon.shapes().starts_with('<') && !icon.shapes().contains("style"), "{file}.svg");
        }
    }

    #[test]
    fn an_icon_with_a_name_is_an_image_and_others_are_hidden() {
        assert!(CHECK.to_string().starts_with("<svg class=\"i\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path"));
        let named = PASSED.small().colored("ok").named("passed").to_string();
        assert!(named.starts_with("<svg class=\"i i-s ok\" viewBox=\"0 0 16 16\" role=\"img\" aria-label=\"passed\">"));
        assert!(named.ends_with("</svg>"));
    }
}
