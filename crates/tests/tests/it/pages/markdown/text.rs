//! Texts as HTML, without a server.

use std::time::{Duration, Instant};

use holdfast_web::markdown::sanitize::{self, ATTRIBUTES, TAG_ATTRIBUTE_VALUES, TAG_ATTRIBUTES, TAGS};
use holdfast_web::markdown::{ID_PREFIX, LinkContext, MAX_BYTES, elements, render};
use scraper::{Html, Node};

use super::attacks::ATTACKS;

pub fn contexts() -> [LinkContext; 3] {
    [
        LinkContext::for_texts("harbour/tide"),
        LinkContext::for_file("harbour/tide", "main", "docs/a.md"),
        LinkContext::for_readme("harbour/tide", "main", "README.md"),
    ]
}

/// Parses the HTML as browsers do and fails if it contains anything that is not on the list.
pub fn assert_safe(html: &str, text: &str) {
    let fragment = Html::parse_fragment(html);
    let elements = fragment.root_element().descendants().filter_map(|node| match node.value() {
        Node::Element(element) => Some(element),
        Node::Comment(_) | Node::ProcessingInstruction(_) => panic!("{text}: {html}"),
        _ => None,
    });
    for element in elements.skip(1) {
        let name = element.name();
        assert!(TAGS.contains(&name), "{name} in {html}, from {text}");
        for (attribute, value) in element.attrs() {
            let is_named = |(tag, names): &(&str, &[&str])| *tag == name && names.contains(&attribute);
            let has_value =
                |(tag, of, values): &(&str, &str, &[&str])| *tag == name && *of == attribute && values.contains(&value);
            let is_known = match attribute {
                "class" => value.split_whitespace().all(|class| elements::CLASSES.contains(&class)),
                "rel" => name == "a" && value == "nofollow ugc",
                "id" => value.starts_with(ID_PREFIX),
                _ if ATTRIBUTES.contains(&attribute) => true,
                _ => TAG_ATTRIBUTES.iter().any(is_named) || TAG_ATTRIBUTE_VALUES.iter().any(has_value),
            };
            assert!(is_known, "{name} {attribute}={value} in {html}, from {text}");
            match (name, attribute) {
                ("a", "href") => {
                    let starts = ["http://", "https://", "mailto:", "/", "#"];
                    let is_local = !value.starts_with("//") && !value.starts_with("/\\");
                    let has_start = starts.iter().any(|start| value.to_lowercase().starts_with(start));
                    assert!(has_start && is_local, "{value}, from {text}");
                }
                ("img", "src") => assert!(value.starts_with("/harbour/tide/"), "{value}, from {text}"),
                _ => {}
            }
        }
    }
    // A second pass changes nothing, so that no later parser sees something else.
    assert_eq!(sanitize::clean(html), html, "from {text}");
}

#[test]
fn attacks_leave_only_what_is_allowed() {
    assert!(ATTACKS.len() >= 60);
    for context in contexts() {
        for text in ATTACKS {
            assert_safe(&render(text, &context).unwrap(), text);
            for inside in
                [format!("> - {text}"), format!("<b>{text}"), format!("<table><td>{text}"), format!("x {text}")]
            {
                assert_safe(&render(&inside, &context).unwrap(), &inside);
            }
        }
    }
    let all = ATTACKS.join("\n\n");
    assert_safe(&render(&all, &contexts()[1]).unwrap(), "all");
}

fn file(text: &str) -> String {
    render(text, &LinkContext::for_file("harbour/tide", "main", "docs/guide.md")).unwrap()
}

fn note(text: &str) -> String {
    render(text, &LinkContext::for_texts("harbour/tide")).unwrap()
}

#[test]
fn relative_links_of_a_file_lead_to_files() {
    for (target, expected) in [
        ("setup.md", "/harbour/tide/blob/main/docs/setup.md"),
        ("./setup.md#install", "/harbour/tide/blob/main/docs/setup.md#user-content-install"),
        ("../src/lib.rs#L3", "/harbour/tide/blob/main/src/lib.rs#L3"),
        ("/LICENSE", "/harbour/tide/blob/main/LICENSE"),
        ("../../../../etc/passwd", "/harbour/tide/blob/main/etc/passwd"),
        ("a%20b.md", "/harbour/tide/blob/main/docs/a%20b.md"),
        ("images/", "/harbour/tide/tree/main/docs/images"),
        ("..", "/harbour/tide/tree/main"),
        ("#top", "#user-content-top"),
        ("https://example.com/a?b=c", "https://example.com/a?b=c"),
        ("//example.com/a", "https://example.com/a"),
        ("mailto:ada@example.com", "mailto:ada@example.com"),
    ] {
        let html = file(&format!("[x]({target})"));
        assert!(html.contains(&format!("<a href=\"{expected}\" rel=\"nofollow ugc\">x</a>")), "{target}: {html}");
    }
}

#[test]
fn links_and_uploads_of_a_note_lead_to_the_project() {
    let upload = "/uploads/0123456789abcdef0123456789abcdef/tide.png";
    let html = note(&format!("![tide]({upload}) [file]({upload}) [page](/harbour/tide/issues/1) [x](README.md)"));
    assert!(html.contains(&format!("<img src=\"/harbour/tide{upload}\" alt=\"tide\" loading=\"lazy\">")), "{html}");
    assert!(html.contains(&format!("<a href=\"/harbour/tide{upload}\"")), "{html}");
    assert!(html.contains("<a href=\"/harbour/tide/issues/1\""), "{html}");
    assert!(html.contains("<a href=\"/harbour/tide/blob/HEAD/README.md\""), "{html}");
}

#[test]
fn images_of_other_hosts_are_links() {
    let html = file("![The tide](https://example.com/tide.png)");
    assert!(html.contains(">The tide</a>") && !html.contains("<img"), "{html}");
    let html = file("[![build](https://ci.example/badge.svg)](https://ci.example)");
    assert_eq!(html, "<p><a href=\"https://ci.example\" rel=\"nofollow ugc\">build</a></p>\n");
    assert!(file("![a](a.png)").contains("<img src=\"/harbour/tide/raw/main/docs/a.png\" alt=\"a\""));
    assert!(file("![a](a.svg)").contains("<a href=\"/harbour/tide/blob/main/docs/a.svg\""));
}

#[test]
fn headings_continue_the_levels_of_the_page() {
    let html = file("# One\n\n### Three\n\n## Two\n\n###### Six");
    let starts: Vec<&str> = html.lines().map(|line| &line[..3]).collect();
    assert_eq!(starts, ["<h2", "<h3", "<h3", "<h4"], "{html}");
    assert!(html.contains("<h2 class=\"h1\" id=\"user-content-one\">One</h2>"), "{html}");
    let readme = render("# One", &LinkContext::for_readme("a/b", "main", "README.md")).unwrap();
    assert!(readme.starts_with("<h3 class=\"h1\""), "{readme}");
    assert_eq!(note("# One"), "<h2 class=\"h1\">One</h2>\n");
}

#[test]
fn tables_tasks_and_code_are_rendered() {
    let html = note("| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n~~old~~ https://example.com");
    for part in [
        "<th>a</th>",
        "<td align=\"right\">2</td>",
        "<ul class=\"tasks\">",
        "aria-label=\"Done\"",
        "aria-label=\"Not done\"",
        "<del>old</del>",
        "<a href=\"https://example.com\" rel=\"nofollow ugc\">https://example.com</a>",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    let code = note("```\nif a < b {}\n```");
    assert_eq!(code, "<pre tabindex=\"0\"><code>if a &lt; b {}\n</code></pre>\n");
    assert!(note("a \u{202E}b").contains("<span class=\"unseen\">U+202E</span>"));
}

#[test]
fn links_and_images_have_names() {
    assert!(note("[](https://example.com)").contains(">https://example.com</a>"));
    assert!(file("[![](a.png)](b.md)").contains("alt=\"a.png\""));
    assert!(file("![](a.png)").contains("alt=\"\""));
}

#[test]
fn long_texts_are_not_rendered() {
    let context = LinkContext::for_texts("a/b");
    assert!(render(&"a".repeat(MAX_BYTES + 1), &context).is_none());
    let paragraphs = |bytes: usize| format!("{}\n\n", "a".repeat(9_998)).repeat(bytes / 10_000);
    assert!(render(&paragraphs(300_000), &context).is_some());
    assert!(render(&paragraphs(300_000), &context).is_none(), "the texts of one page are too long together");
    assert!(render("short", &context).is_some());
}

/// Hostile texts of 40 kB end in a time that grows with their length, on a stack of the size that threads have.
#[test]
fn nesting_is_bounded() {
    let repeat = |part: &str| part.repeat(40_000 / part.len());
    let texts = [
        repeat(">"),
        repeat("> "),
        repeat("- "),
        repeat("1. "),
        repeat("["),
        repeat("![["),
        repeat("*a **a "),
        repeat("a**b"),
        repeat("<div>"),
        repeat("<b><i>"),
        repeat("<table><tr><td>"),
        repeat("<table><b>"),
        repeat("<ul><li>"),
        repeat("<svg>"),
        repeat("<a href=x>"),
        repeat("</p>"),
        repeat("&"),
        repeat("\""),
        format!("<p title='{}'>", repeat("&")),
        format!("[x]({})", repeat("&")),
        repeat("<!--"),
        repeat("`a "),
        repeat("[a]: b\n"),
        repeat("[^1]"),
        repeat("|a"),
        repeat("|\n"),
        repeat("~~a"),
        "x".repeat(40_000),
        (0..2_000).map(|number| format!("<b id={number}>")).collect::<String>() + &"\n\na".repeat(8_000),
        (0..1_000).map(|number| format!("<p><font color={number}>")).collect::<String>() + &"<p>a".repeat(5_000),
    ];
    for text in texts {
        let start = Instant::now();
        let shown: String = text.chars().take(20).collect();
        let work = move || render(&text, &LinkContext::for_file("harbour/tide", "main", "a.md"));
        let html = std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
        assert!(html.is_none_or(|html| html.len() < 20_000_000), "{shown}");
        // All of them take four seconds; the machine may be busy.
        assert!(start.elapsed() < Duration::from_secs(120), "{shown}: {:?}", start.elapsed());
    }
}
