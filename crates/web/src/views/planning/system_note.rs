//! The parts of a system note: plain text, titles and labels.

use super::label::{LabelChip, LabelChips};

/// A part of a system note. Titles are texts of users, so they are not read as Markdown.
#[derive(Clone, Debug)]
pub enum NotePart {
    Text(String),
    /// The title of an issue or a milestone.
    Title(String),
    Label(LabelChip),
}

/// Splits the body of a system note at the markup of its titles and labels. A body without such markup is one text.
pub fn system_note_parts(body: &str, chips: &LabelChips<'_>) -> Vec<NotePart> {
    let text = |text: &str| NotePart::Text(text.to_owned());
    let title = |title: &str| NotePart::Title(title.to_owned());
    let titles = strip_markup(body, "changed title from **", "**").and_then(|titles| titles.split_once("** to **"));
    if let Some((before, after)) = titles {
        return vec![text("changed title from "), title(before), text(" to "), title(after)];
    }
    if let Some(milestone) = strip_markup(body, "changed milestone to %\"", "\"") {
        return vec![text("changed milestone to "), title(milestone)];
    }
    for verb in ["added ", "removed "] {
        if let Some(titles) = body.strip_prefix(verb).and_then(|rest| strip_markup(rest, "~\"", "\"")) {
            let labels = titles.split("\" ~\"").map(|title| NotePart::Label(chips.chip(title)));
            return std::iter::once(text(verb)).chain(labels).collect();
        }
    }
    vec![text(body)]
}

fn strip_markup<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.strip_suffix(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::ProjectLinks;

    fn parts(body: &str) -> Vec<String> {
        let chips = LabelChips::new(&[], &ProjectLinks::new("ada/tide"));
        let part = |part: NotePart| match part {
            NotePart::Text(text) => text,
            NotePart::Title(title) => format!("[{title}]"),
            NotePart::Label(label) => format!("({})", label.title),
        };
        system_note_parts(body, &chips).into_iter().map(part).collect()
    }

    #[test]
    fn markup_of_titles_and_labels_is_removed() {
        let title = "changed title from **Lamp** to **<b>*Lamp* 2</b>**";
        assert_eq!(parts(title), ["changed title from ", "[Lamp]", " to ", "[<b>*Lamp* 2</b>]"]);
        assert_eq!(parts("added ~\"in progress\" ~\"a\"b\""), ["added ", "(in progress)", "(a\"b)"]);
        assert_eq!(parts("removed ~\"bug\""), ["removed ", "(bug)"]);
        assert_eq!(parts("changed milestone to %\"2.5\""), ["changed milestone to ", "[2.5]"]);
        for body in ["closed", "assigned to @ada", "added ~", "changed title from **a**"] {
            assert_eq!(parts(body), [body]);
        }
    }
}
