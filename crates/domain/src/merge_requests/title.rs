//! The prefix of a title that marks a merge request as a draft, or as work in progress.

/// Returns whether a title begins with `Draft:`, `[Draft]` or `(Draft)`, or with the older `WIP:`, `[WIP]`, or `WIP`
/// and a blank, in any case. Lists of merge requests in the database have the same rule.
pub fn is_work_in_progress(title: &str) -> bool {
    let title = title.trim_start();
    let begins_with = |prefix: &str| title.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    ["Draft:", "[Draft]", "(Draft)", "WIP:", "[WIP]"].into_iter().any(begins_with)
        || (begins_with("WIP") && title[3..].starts_with(|next: char| next.is_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::is_work_in_progress;

    #[test]
    fn the_prefix_is_found() {
        for title in ["WIP: x", "[WIP] x", "WIP x", " wip: x", "[wip]x", "wIP\tx"] {
            assert!(is_work_in_progress(title), "{title:?}");
        }
        for title in ["Draft: x", "[Draft] x", "(Draft) x", " draft:x", "[DRAFT]x", "(draft)"] {
            assert!(is_work_in_progress(title), "{title:?}");
        }
        for title in ["", "WIP", "WIPE x", "x WIP", "W I P", "wíp: x", "[WI", "äWIP: x", "(WIP) x"] {
            assert!(!is_work_in_progress(title), "{title:?}");
        }
        for title in ["Draft", "Draft x", "Drafts: x", "x Draft:", "[Draft: x", "(Draft x)", "(Dräft) x"] {
            assert!(!is_work_in_progress(title), "{title:?}");
        }
    }
}
