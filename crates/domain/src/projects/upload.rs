//! Uploaded files: safe file names, and the Markdown that embeds a file.

const MEDIA_EXTENSIONS: [&str; 11] = ["png", "jpg", "jpeg", "gif", "bmp", "tiff", "mp4", "m4v", "mov", "webm", "ogv"];

/// Returns a file name that is safe in a URL, in a header and in Markdown.
pub fn sanitize_file_name(client_name: &str) -> String {
    // Some browsers send the whole path of the file.
    let last = client_name.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '_' | '-') { c } else { '_' };
    let name: String = last.chars().map(safe).take(200).collect();
    // A name of dots only would be a relative path segment.
    if name.bytes().all(|byte| byte == b'.') { "file".into() } else { name }
}

/// Returns the alternative text and the Markdown for a file. Images and videos are embedded, other files are linked.
pub fn markup(file_name: &str, url: &str) -> (String, String) {
    let (stem, extension) = file_name.rsplit_once('.').unwrap_or((file_name, ""));
    let extension = extension.to_ascii_lowercase();
    let is_media = MEDIA_EXTENSIONS.contains(&extension.as_str());
    let alt = if is_media { stem } else { file_name }.to_owned();
    let mark = if is_media || extension == "svg" { "!" } else { "" };
    let markdown = format!("{mark}[{}]({url})", alt.replace(']', "\\]"));
    (alt, markdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_sanitized() {
        let cases = [
            ("notes.txt", "notes.txt"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\a b.png", "a_b.png"),
            ("..", "file"),
            ("", "file"),
            ("ä\r\n\"<>.svg", "______.svg"),
        ];
        for (sent, name) in cases {
            assert_eq!(sanitize_file_name(sent), name, "{sent:?}");
        }
    }

    #[test]
    fn images_are_embedded_and_files_are_linked() {
        assert_eq!(markup("dk.png", "/u/dk.png"), ("dk".into(), "![dk](/u/dk.png)".into()));
        assert_eq!(markup("x.svg", "/u/x.svg"), ("x.svg".into(), "![x.svg](/u/x.svg)".into()));
        assert_eq!(markup("a.txt", "/u/a.txt"), ("a.txt".into(), "[a.txt](/u/a.txt)".into()));
    }
}
