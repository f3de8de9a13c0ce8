//! Where the links and images of a text lead.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use holdfast_app::planning::mention::Mentioned;
use holdfast_domain::planning::Mention;
use holdfast_domain::site::{ProjectLinks, encode_path, user};
use percent_encoding::percent_decode_str;

use crate::file_types::{image_type, is_markdown};

/// The prefix of the ids in texts of users, so that they differ from the ids of the page.
pub const ID_PREFIX: &str = "user-content-";

/// Maximum size of the texts that are rendered for one page, in bytes. The texts after that are shown as they are.
const MAX_PAGE_BYTES: usize = 512_000;
/// How long the texts of one page may be parsed, all together. A text of the maximum size takes a few milliseconds.
const PARSE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the code of the texts of one page may be highlighted.
const HIGHLIGHT_TIMEOUT: Duration = Duration::from_millis(300);

/// The place of the texts of one page, which decides where their relative links lead, and what may still be rendered
/// for this page.
#[derive(Debug)]
pub struct LinkContext {
    links: ProjectLinks,
    place: Place,
    mentioned: Mentioned,
    remaining_bytes: AtomicUsize,
    /// How long texts of the page have been parsed, in nanoseconds.
    parse_nanoseconds: AtomicU64,
    highlight_deadline: Instant,
}

#[derive(Clone, Debug)]
enum Place {
    /// A description, a note or another text that is not a file.
    Text,
    File {
        revision: String,
        /// The directory of the file, without slashes at its ends.
        directory: String,
        /// The level of the first heading.
        first_heading: u8,
    },
}

/// Where a link or an image leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An address that the text may link to.
    Link(String),
    /// The address of an image of this host.
    Image(String),
}

impl LinkContext {
    /// Creates the context of descriptions, notes and other texts in the project with this path. Their headings begin
    /// at the second level.
    pub fn for_texts(full_path: &str) -> Self {
        Self::new(full_path, Place::Text)
    }

    /// Creates the context of a file of the repository that is the content of its page.
    pub fn for_file(full_path: &str, revision: &str, path: &str) -> Self {
        Self::new(full_path, Place::file(revision, path, 2))
    }

    /// Creates the context of a README that is shown in a section of a page, below the heading of the section.
    pub fn for_readme(full_path: &str, revision: &str, path: &str) -> Self {
        Self::new(full_path, Place::file(revision, path, 3))
    }

    fn new(full_path: &str, place: Place) -> Self {
        Self {
            links: ProjectLinks::new(full_path),
            place,
            mentioned: Mentioned::default(),
            remaining_bytes: AtomicUsize::new(MAX_PAGE_BYTES),
            parse_nanoseconds: AtomicU64::new(0),
            highlight_deadline: Instant::now() + HIGHLIGHT_TIMEOUT,
        }
    }

    /// Returns the context with the issues and users that mentions in the texts lead to. Others remain text.
    pub fn with_mentions(self, mentioned: &Mentioned) -> Self {
        Self { mentioned: mentioned.clone(), ..self }
    }

    /// Returns the address that a mention leads to.
    pub(super) fn mention(&self, mention: Mention<'_>) -> Option<String> {
        match mention {
            Mention::Issue(number) => self.mentioned.issues.contains(&number).then(|| self.links.issue(number)),
            Mention::User(name) => {
                let username = self.mentioned.usernames.iter().find(|known| known.eq_ignore_ascii_case(name))?;
                Some(user(username))
            }
        }
    }

    /// Counts a text that is about to be rendered. Returns false if the texts of the page would be too long with it.
    pub(super) fn admit(&self, bytes: usize) -> bool {
        let subtract = |remaining: usize| remaining.checked_sub(bytes);
        self.remaining_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract).is_ok()
    }

    /// Parses a text. `parse` gets the deadline that the texts before it have left.
    pub(super) fn parse<T>(&self, parse: impl FnOnce(Instant) -> T) -> T {
        let start = Instant::now();
        let spent = Duration::from_nanos(self.parse_nanoseconds.load(Ordering::Relaxed));
        let parsed = parse(start + PARSE_TIMEOUT.saturating_sub(spent));
        let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.parse_nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        parsed
    }

    pub(super) fn highlight_deadline(&self) -> Instant {
        self.highlight_deadline
    }

    pub(super) fn first_heading(&self) -> u8 {
        if let Place::File { first_heading, .. } = self.place { first_heading } else { 2 }
    }

    /// Returns whether headings and other elements have ids. Several texts on one page could have the same ids.
    pub(super) fn has_ids(&self) -> bool {
        matches!(self.place, Place::File { .. })
    }

    /// Returns the address that a link of a text leads to, or `None` if it must not lead anywhere.
    pub(super) fn link(&self, address: &str) -> Option<String> {
        match Address::parse(address)? {
            Address::Absolute(address) => Some(address),
            Address::Fragment(fragment) => Some(format!("#{}", user_fragment(&fragment))),
            Address::Relative { path, suffix } => Some(match &self.place {
                Place::Text if is_upload(&path) => self.links.upload(&path),
                Place::Text if path.starts_with('/') => format!("{}{suffix}", encode_path(&path)),
                Place::Text => self.file_link("HEAD", "", &path, &suffix),
                Place::File { revision, directory, .. } => self.file_link(revision, directory, &path, &suffix),
            }),
        }
    }

    /// Returns where an image of a text leads. Only images of this host are shown; others are links.
    pub(super) fn image(&self, address: &str) -> Option<Target> {
        let Address::Relative { path, .. } = Address::parse(address)? else {
            return Some(Target::Link(self.link(address)?));
        };
        let image = match &self.place {
            Place::Text if is_upload(&path) => self.links.upload(&path),
            Place::Text if path.starts_with('/') => return Some(Target::Link(self.link(address)?)),
            Place::Text => self.links.raw("HEAD", resolve("", &path)),
            Place::File { revision, directory, .. } => self.links.raw(revision, resolve(directory, &path)),
        };
        // Other files, such as SVG, are not served as images.
        if image_type(&path).is_none() {
            return Some(Target::Link(self.link(address)?));
        }
        Some(Target::Image(image))
    }

    fn file_link(&self, revision: &str, directory: &str, path: &str, suffix: &str) -> String {
        let file = resolve(directory, path);
        if path.ends_with('/') || file.is_empty() {
            return self.links.tree(revision, file);
        }
        let suffix = match suffix.split_once('#') {
            Some((query, fragment)) if is_markdown(&file) && !is_line(fragment) => {
                format!("{query}#{}", user_fragment(fragment))
            }
            _ => suffix.to_owned(),
        };
        format!("{}{suffix}", self.links.blob(revision, file))
    }
}

impl Place {
    fn file(revision: &str, path: &str, first_heading: u8) -> Self {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        Self::File { revision: revision.to_owned(), directory: directory.trim_matches('/').to_owned(), first_heading }
    }
}

/// An address as a text contains it.
#[derive(Debug)]
enum Address {
    /// An address with a permitted scheme.
    Absolute(String),
    /// A place of the same text.
    Fragment(String),
    /// A path, which is not percent-encoded, with the query and the fragment, which are.
    Relative { path: String, suffix: String },
}

impl Address {
    /// Parses an address as browsers do: control characters and blanks around it, and tabs and line breaks within it,
    /// do not count. Returns `None` for schemes that are not permitted.
    fn parse(text: &str) -> Option<Self> {
        let is_blank = |c: char| c.is_control() || c == ' ';
        let text: String = text.trim_matches(is_blank).chars().filter(|c| !c.is_control()).collect();
        let text = text.replace('\\', "/");
        if let Some(rest) = text.strip_prefix("//") {
            return Some(Self::Absolute(format!("https://{}", rest.trim_start_matches('/'))));
        }
        if let Some(fragment) = text.strip_prefix('#') {
            return Some(Self::Fragment(fragment.to_owned()));
        }
        if let Some((scheme, _)) = text.split_once(':').filter(|(scheme, _)| !scheme.contains(['/', '?', '#'])) {
            let is_permitted = ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
            return is_permitted.then_some(Self::Absolute(text));
        }
        let (path, suffix) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
        let path = percent_decode_str(path).decode_utf8().ok()?.into_owned();
        // A decoded path could begin with slashes or contain control characters again.
        if path.starts_with("//") || path.contains(|c: char| c.is_control()) {
            return None;
        }
        Some(Self::Relative { path, suffix: suffix.to_owned() })
    }
}

/// Returns the path of a file relative to the root of the repository. A path that begins with a slash is relative to
/// the root; `..` never leaves the repository.
fn resolve(directory: &str, path: &str) -> String {
    let base = if path.starts_with('/') { "" } else { directory };
    let mut names: Vec<&str> = Vec::new();
    for name in base.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Returns whether a path is that of an uploaded file, which is relative to the project.
fn is_upload(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name != "." && name != "..";
    path.strip_prefix("/uploads/").and_then(|rest| rest.split_once('/')).is_some_and(|(secret, file)| {
        is_name(secret) && secret.bytes().all(|byte| byte.is_ascii_hexdigit()) && is_name(file) && !file.contains('/')
    })
}

/// Returns whether a fragment names lines of a file, such as `L12` or `L12-L20`.
fn is_line(fragment: &str) -> bool {
    fragment.strip_prefix('L').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn user_fragment(fragment: &str) -> String {
    if fragment.is_empty() || fragment.starts_with(ID_PREFIX) {
        return fragment.to_owned();
    }
    format!("{ID_PREFIX}{fragment}")
}
