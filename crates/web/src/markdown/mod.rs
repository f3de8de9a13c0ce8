//! Markdown that people wrote, as sanitized HTML.
//!
//! comrak turns Markdown into HTML and keeps the HTML that the text contains. `structure` makes elements nest properly,
//! bounds their depth and rewrites links. `sanitize` removes everything that is not on its list; it alone decides what
//! is safe, so an error in the steps before it cannot let a script through.

mod attributes;
mod code;
pub mod elements;
mod links;
pub mod sanitize;
mod structure;

use std::time::Instant;

use comrak::{Arena, Options, format_html_with_plugins, options, try_parse_document};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

pub use links::{ID_PREFIX, LinkContext};

/// Maximum size of a text that is rendered, in bytes. Longer texts are shown as they are.
pub const MAX_BYTES: usize = 512_000;
/// Maximum number of lists and quotations that one line begins.
const MAX_CONTAINERS_PER_LINE: usize = 100;

/// Renders Markdown as sanitized HTML, which templates show with the filter `safe`. Returns `None` if the text is too
/// long or nested too deeply, or if the texts of the page are too long or take too long together; it is then shown as
/// it is.
///
/// The context belongs to one page, for all texts on it.
pub fn render(text: &str, context: &LinkContext) -> Option<String> {
    if text.len() > MAX_BYTES || !context.admit(text.len()) {
        return None;
    }
    // A text can take long, and waits for its highlighted code. Other requests then continue on another thread, which
    // only a runtime with several threads has: `block_in_place` panics on others, such as those of tests.
    let runtime = Handle::try_current();
    match runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread) {
        true => block_in_place(|| render_admitted(text, context)),
        false => render_admitted(text, context),
    }
}

fn render_admitted(text: &str, context: &LinkContext) -> Option<String> {
    if has_deep_line(text) {
        return None;
    }
    let options = options(context);
    let code = code::CodeBlocks::new(context.highlight_deadline());
    let mut plugins = options::Plugins::default();
    plugins.render.codefence_syntax_highlighter = Some(&code);
    let arena = Arena::new();
    let parse = |deadline: Instant| try_parse_document(&arena, text, &options, &|| Instant::now() >= deadline);
    let root = context.parse(parse).ok()?;
    let mut html = String::with_capacity(text.len() * 2);
    format_html_with_plugins(root, &options, &mut html, &plugins).ok()?;
    Some(sanitize::clean(&structure::normalize(html, context)))
}

/// Like [`render`], but does not occupy a thread that serves requests. For files, which can be long.
pub async fn render_file(content: impl AsRef<[u8]> + Send + 'static, context: LinkContext) -> Option<String> {
    let render = move || render(&String::from_utf8_lossy(content.as_ref()), &context);
    tokio::task::spawn_blocking(render).await.ok().flatten()
}

fn options(context: &LinkContext) -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.alerts = true;
    if context.has_ids() {
        options.extension.footnotes = true;
        options.extension.header_id_prefix = Some(links::ID_PREFIX.to_owned());
        options.extension.front_matter_delimiter = Some("---".to_owned());
    }
    options.render.r#unsafe = true;
    options.render.tasklist_classes = true;
    options
}

/// Returns whether a line begins with very many lists and quotations. Each is one more level of nesting.
fn has_deep_line(text: &str) -> bool {
    text.lines().any(|line| {
        let mut bytes = line.bytes().peekable();
        let mut containers = 0;
        while let Some(byte) = bytes.next() {
            let is_followed_by_blank = matches!(bytes.peek(), None | Some(b' ' | b'\t'));
            match byte {
                b'>' => containers += 1,
                b'-' | b'+' | b'*' | b'.' | b')' if is_followed_by_blank => containers += 1,
                b' ' | b'\t' | b'0'..=b'9' => {}
                _ => break,
            }
        }
        containers > MAX_CONTAINERS_PER_LINE
    })
}
