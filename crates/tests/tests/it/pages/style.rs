//! Compares the style sheet with the templates, and computes the contrast of its colors.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../web");

/// Contrast that WCAG AA requires of text, and of the borders of controls.
const TEXT_CONTRAST: f64 = 4.5;
const CONTROL_CONTRAST: f64 = 3.0;

fn read(path: &str) -> String {
    std::fs::read_to_string(format!("{WEB}/{path}")).unwrap()
}

fn files_in(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_in(&path, extension, found);
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
}

fn read_all(directory: &str, extension: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    files_in(&Path::new(WEB).join(directory), extension, &mut files);
    files.sort();
    files.into_iter().map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap())).collect()
}

/// Replaces everything between two marks, with the marks, by a text.
fn replace_between(text: &str, open: &str, close: &str, replacement: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        result += before;
        result += replacement;
        rest = after.split_once(close).map_or("", |(_, after)| after);
    }
    result + rest
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

/// Returns the classes in the selectors of the style sheet.
fn style_classes() -> BTreeSet<String> {
    let css = replace_between(&read("assets/style.css"), "/*", "*/", " ");
    let css = replace_between(&css, "\"", "\"", " ");
    let mut classes = BTreeSet::new();
    // What stands before a brace is a selector or the condition of an at-rule.
    for part in css.split('{') {
        let selector = part.rsplit(['}', ';']).next().unwrap_or_default();
        for name in selector.split('.').skip(1) {
            let name: String = name.chars().take_while(|it| is_name(*it)).collect();
            if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
                classes.insert(name);
            }
        }
    }
    classes
}

/// Returns the classes that templates name literally. A name that an expression is part of is left out.
fn template_classes() -> BTreeMap<String, String> {
    let mut classes = BTreeMap::new();
    for (path, text) in read_all("templates", "html") {
        // The mark stands where an expression would be part of a name. Statements separate names.
        let text = replace_between(&replace_between(&text, "{#", "#}", " "), "{{", "}}", "\u{1}");
        let text = replace_between(&text, "{%", "%}", " ");
        for attribute in text.split(" class=\"").skip(1) {
            let value = attribute.split('"').next().unwrap_or_default();
            let names = value.split_whitespace().filter(|name| !name.contains('\u{1}'));
            classes.extend(names.map(|name| (name.to_owned(), path.clone())));
        }
    }
    classes
}

#[test]
fn every_class_of_the_templates_has_a_style() {
    let styles = style_classes();
    let missing: Vec<_> = template_classes().into_iter().filter(|(name, _)| !styles.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_style_is_used() {
    let mut words = BTreeSet::new();
    for (directory, extension) in [("templates", "html"), ("src", "rs"), ("assets", "js"), ("icons", "svg")] {
        for (_, text) in read_all(directory, extension) {
            words.extend(text.split(|it| !is_name(it)).map(str::to_owned));
        }
    }
    // The colors of avatars are numbered.
    let is_numbered = |name: &str| name.starts_with('c') && name[1..].chars().all(|it| it.is_ascii_digit());
    let unused: Vec<_> = style_classes().into_iter().filter(|it| !words.contains(it) && !is_numbered(it)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// A color in the light and in the dark theme.
type Pair = [[f64; 3]; 2];

/// Returns the value of a color such as `#1a2327`.
fn parse_color(text: &str) -> Option<[f64; 3]> {
    let digits = text.trim().strip_prefix('#')?;
    let value = |range: std::ops::Range<usize>| u8::from_str_radix(digits.get(range)?, 16).ok().map(f64::from);
    (digits.len() == 6).then_some(())?;
    Some([value(0..2)?, value(2..4)?, value(4..6)?])
}

/// Returns the colors that a rule defines, by name.
fn colors(selector: &str) -> BTreeMap<String, Pair> {
    let css = replace_between(&read("assets/style.css"), "/*", "*/", " ");
    let rule = css.split_once(&format!("{selector} {{")).unwrap_or_else(|| panic!("no rule {selector}")).1;
    let rule = rule.split_once('}').unwrap().0;
    let mut colors = BTreeMap::new();
    for declaration in rule.split(';') {
        let Some((name, value)) = declaration.trim().split_once(':') else { continue };
        let both = value.trim().strip_prefix("light-dark(").and_then(|it| it.strip_suffix(')'));
        let (light, dark) = both.and_then(|it| it.split_once(',')).unwrap_or((value, value));
        if let (Some(light), Some(dark)) = (parse_color(light), parse_color(dark)) {
            colors.insert(name.to_owned(), [light, dark]);
        }
    }
    colors
}

/// Returns the relative luminance that WCAG defines.
fn luminance(color: [f64; 3]) -> f64 {
    let linear = color.map(|value| {
        let value = value / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn colors_of_text_have_enough_contrast_in_both_themes() {
    const GROUNDS: &[&str] = &["bg", "bg-soft", "bg-raised", "bg-hover", "bg-chosen"];
    const STATES: &[&str] = &["ok", "bad", "run", "wait", "off", "violet"];
    const CODE: &[&str] = &["text", "c-comment", "c-string", "c-keyword", "c-number", "c-function", "c-type"];
    const CODE_GROUNDS: &[&str] = &["bg", "bg-soft", "add", "add-word", "del", "del-word", "mark"];
    let colors = colors(":root");
    let mut pairs: Vec<(String, String, f64)> = Vec::new();
    let mut add = |texts: &[&str], grounds: &[&str], least: f64| {
        for text in texts {
            pairs.extend(grounds.iter().map(|ground| ((*text).to_owned(), (*ground).to_owned(), least)));
        }
    };
    add(&["text", "text-soft", "text-faint", "accent"], GROUNDS, TEXT_CONTRAST);
    add(STATES, GROUNDS, TEXT_CONTRAST);
    add(CODE, CODE_GROUNDS, TEXT_CONTRAST);
    add(&["on-fill"], &["accent-fill"], TEXT_CONTRAST);
    add(&["line-control"], GROUNDS, CONTROL_CONTRAST);
    add(&["text-soft"], &["hunk"], TEXT_CONTRAST);
    for state in STATES {
        add(&[state], &[&format!("{state}-soft")], TEXT_CONTRAST);
    }
    let mut wrong = Vec::new();
    for (text, ground, least) in &pairs {
        let find = |name: &str| *colors.get(&format!("--{name}")).unwrap_or_else(|| panic!("no color --{name}"));
        let (text_pair, ground_pair) = (find(text), find(ground));
        for (theme, number) in [("light", 0), ("dark", 1)] {
            let found = contrast(text_pair[number], ground_pair[number]);
            if found < *least {
                wrong.push(format!("{theme}: --{text} on --{ground} is {found:.2}, not {least}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
