//! Files for use in texts: what they are called, and the markup that shows them.

const PICTURES: [&str; 11] = ["png", "jpg", "jpeg", "gif", "bmp", "tiff", "mp4", "m4v", "mov", "webm", "ogv"];

/// A name that is safe in an address, in a header and in markup.
pub fn file_name(sent: &str) -> String {
    // Some browsers send the whole path of the file.
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '_' | '-') { c } else { '_' };
    let name: String = last.chars().map(safe).take(200).collect();
    // A name of dots alone would lead up or nowhere.
    if name.bytes().all(|byte| byte == b'.') { "file".into() } else { name }
}

/// What is shown in place of the file, and the markup for it.
pub fn markup(file_name: &str, url: &str) -> (String, String) {
    let (stem, extension) = file_name.rsplit_once('.').unwrap_or((file_name, ""));
    let extension = extension.to_ascii_lowercase();
    let is_picture = PICTURES.contains(&extension.as_str());
    let alt = if is_picture { stem } else { file_name }.to_owned();
    let mark = if is_picture || extension == "svg" { "!" } else { "" };
    let markdown = format!("{mark}[{}]({url})", alt.replace(']', "\\]"));
    (alt, markdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere() {
        let cases = [
            ("notes.txt", "notes.txt"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\a b.png", "a_b.png"),
            ("..", "file"),
            ("", "file"),
            ("ä\r\n\"<>.svg", "______.svg"),
        ];
        for (sent, name) in cases {
            assert_eq!(file_name(sent), name, "{sent:?}");
        }
    }

    #[test]
    fn pictures_are_shown_and_files_are_linked() {
        assert_eq!(markup("dk.png", "/u/dk.png"), ("dk".into(), "![dk](/u/dk.png)".into()));
        assert_eq!(markup("x.svg", "/u/x.svg"), ("x.svg".into(), "![x.svg](/u/x.svg)".into()));
        assert_eq!(markup("a.txt", "/u/a.txt"), ("a.txt".into(), "[a.txt](/u/a.txt)".into()));
    }
}
