//! What a file is by the extension of its path.

/// Returns the content type of an image that browsers show and that cannot contain scripts.
pub fn image_type(path: &str) -> Option<&'static str> {
    Some(match extension(path)?.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        _ => return None,
    })
}

/// Returns whether a file is Markdown.
pub fn is_markdown(path: &str) -> bool {
    matches!(extension(path).as_deref(), Some("md" | "markdown" | "mdown" | "mkd"))
}

fn extension(path: &str) -> Option<String> {
    path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase())
}
