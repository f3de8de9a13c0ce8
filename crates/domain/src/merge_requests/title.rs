//! The prefix of a title that marks a merge request as work in progress.

/// Returns whether a title begins with `WIP:`, `[WIP]`, or `WIP` and a blank, in any case.
pub fn is_work_in_progress(title: &str) -> bool {
    let title = title.trim_start();
    let begins_with = |prefix: &str| title.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    begins_with("[WIP]")
        || begins_with("WIP:")
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
        for title in ["", "WIP", "WIPE x", "x WIP", "W I P", "wíp: x", "[WI", "äWIP: x"] {
            assert!(!is_work_in_progress(title), "{title:?}");
        }
    }
}
