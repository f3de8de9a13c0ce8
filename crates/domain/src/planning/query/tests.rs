#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;

use super::*;

fn canonical(line: &str) -> String {
    ListQuery::parse(ListKind::Issues, line).query.to_string()
}

#[test]
fn known_words_are_filters_and_others_are_text() {
    let line = "is:open label:bug -label:docs milestone:2.5 assignee:@me author:ada due:<2026-12-01 sort:created gauge \"foo:bar\"";
    let ParsedQuery { query, problems } = ListQuery::parse(ListKind::Issues, line);
    assert_eq!(problems, Vec::<String>::new());
    let expected = ListQuery {
        state: StateFilter::Open,
        labels: vec!["bug".into()],
        excluded_labels: vec!["docs".into()],
        has_no_label: false,
        milestone: Some(MilestoneFilter::Title("2.5".into())),
        assignee: Some(PersonFilter::Viewer),
        author: Some(PersonFilter::Username("ada".into())),
        due: Some(DueFilter::Before(NaiveDate::from_ymd_opt(2026, 12, 1).unwrap())),
        order: ListOrder::Newest,
        text: vec!["gauge".into(), "foo:bar".into()],
    };
    assert_eq!(query, expected);
    assert_eq!(query.to_string(), line);
}

#[test]
fn only_merge_requests_are_merged_and_only_issues_are_due() {
    let parsed = ListQuery::parse(ListKind::MergeRequests, "is:merged label:bug due:2026-01-02 no:due");
    assert_eq!((parsed.query.to_string().as_str(), parsed.problems.len()), ("is:merged label:bug", 2));
    let parsed = ListQuery::parse(ListKind::Issues, "is:merged due:2026-01-02");
    assert_eq!((parsed.query.to_string().as_str(), parsed.problems.len()), ("is:open due:2026-01-02", 1));
}

#[test]
fn the_canonical_text_has_a_fixed_order() {
    for (line, text) in [
        ("", "is:open"),
        ("  tide   is:closed ", "is:closed tide"),
        ("sort:updated is:all", "is:all"),
        ("label:a label:a label:\"good first\"", "is:open label:a label:\"good first\""),
        ("assignee:ada no:assignee", "is:open no:assignee"),
        ("no:due no:label no:milestone", "is:open no:label no:milestone no:due"),
        ("assignee:@ada author:me", "is:open assignee:ada author:me"),
        ("\"label:bug\" label: \"\"", "is:open \"label:bug\" label:"),
        ("due:2026-01-02", "is:open due:2026-01-02"),
    ] {
        assert_eq!(canonical(line), text, "{line:?}");
    }
}

#[test]
fn words_without_meaning_are_reported_and_the_rest_applies() {
    for line in ["is:odd", "no:author", "due:soon", "due:<2026-13-01", "sort:name", "assignee:@", "author:\"a b\""] {
        let parsed = ListQuery::parse(ListKind::Issues, &format!("{line} label:bug"));
        assert_eq!(parsed.problems.len(), 1, "{line}");
        assert_eq!(parsed.query.to_string(), "is:open label:bug", "{line}");
    }
    let many: String = (0..30).map(|number| format!("label:l{number} ")).collect();
    let parsed = ListQuery::parse(ListKind::Issues, &many);
    assert_eq!((parsed.query.labels.len(), parsed.problems.len()), (MAX_VALUES, MAX_PROBLEMS));
}

#[test]
fn unknown_keys_are_reported() {
    for (line, key) in [("foo:bar", "foo"), ("-author:ada", "-author"), ("Label:bug", "Label")] {
        let parsed = ListQuery::parse(ListKind::Issues, &format!("{line} gauge"));
        assert!(parsed.problems[0].starts_with(&format!("Unknown filter: {key}. ")), "{:?}", parsed.problems);
        assert_eq!(parsed.query.to_string(), "is:open gauge", "{line}");
    }
    for line in ["https://a.example", "std::io", "12:30", "note:", ":x"] {
        let parsed = ListQuery::parse(ListKind::Issues, line);
        assert_eq!((parsed.problems.len(), parsed.query.text), (0, vec![line.to_owned()]), "{line}");
    }
}

proptest! {
    #[test]
    fn the_canonical_text_is_stable(line in r#"(is:|label:|-label:|milestone:|assignee:|author:|no:|due:|sort:|open|@me|label|<2026-01-0[1-9]|created|"|\\| |[a-z]|\PC){0,24}"#) {
        let parsed = ListQuery::parse(ListKind::Issues, &line);
        let text = parsed.query.to_string();
        let again = ListQuery::parse(ListKind::Issues, &text);
        prop_assert_eq!(&again.problems, &Vec::<String>::new());
        prop_assert_eq!(&again.query, &parsed.query);
        prop_assert_eq!(again.query.to_string(), text);
    }
}
