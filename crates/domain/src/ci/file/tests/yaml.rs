use super::super::document;
use super::{error, file, job};

fn variables(text: &str) -> Vec<(String, String)> {
    job(text).variables
}

#[test]
fn aliases_and_merge_keys_are_resolved() {
    for text in [
        "job1: &t\n  stage: build\n  script: run\n\njob2: *t\n",
        ".t: &t\n  stage: build\n  script: run\n\njob1: *t\n\njob2: *t\n",
        ".t: &t\n  stage: build\n\njob1:\n  <<: *t\n  script: run\n\njob2:\n  <<: *t\n  script: run\n",
        ".a: &a {stage: build}\n.b: &b {script: run}\njob1:\n  <<: [*a, *b]\njob2: {<<: [*b, *a]}\n",
        "job1: {<<: {stage: build}, script: run}\njob2:\n  <<: {script: run}\n  stage: build\n",
    ] {
        let jobs = file(text).jobs;
        let summaries: Vec<_> =
            jobs.iter().map(|job| (job.name.as_str(), job.stage.as_str(), job.script.join("\n"))).collect();
        assert_eq!(summaries, [("job1", "build", "run".to_owned()), ("job2", "build", "run".to_owned())], "{text}");
    }
}

#[test]
fn later_keys_override_earlier_keys() {
    let template = ".t: &t {A: template, B: template}\n.u: &u {A: other, C: other}\n";
    for (yaml, expected) in [
        ("{<<: *t, A: own}", "A=own B=template"),
        ("{A: own, <<: *t}", "A=template B=template"),
        ("{A: own, A: again}", "A=again"),
        ("{<<: [*t, *u]}", "A=template C=other B=template"),
        ("{<<: *t, <<: *u}", "A=other B=template C=other"),
    ] {
        let text = format!("{template}job:\n  script: a\n  variables: {yaml}\n");
        let actual: Vec<String> = variables(&text).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(actual.join(" "), expected, "{yaml}");
    }
}

#[test]
fn unmergeable_merge_keys_are_unknown_keys() {
    for merged in ["text", "~", "[a, b]", "*list", "1"] {
        let text = format!(".list: &list [{{a: b}}]\njob:\n  script: a\n  <<: {merged}\n");
        assert_eq!(error(&text), "jobs:job config contains unknown keys: <<", "{merged}");
    }
}

#[test]
fn the_last_duplicate_key_wins() {
    assert_eq!(job("a: {script: a}\na: {script: b}").script, ["b"]);
    assert_eq!(job("a: {script: a}\n:a: {script: b}").script, ["b"]);
    assert_eq!(job("a:\n  script: a\n  script: b\n").script, ["b"]);
}

#[test]
fn quoted_scalars_are_strings() {
    let text =
        "a:\n  script: ['yes', \"1\", '~', ':a', \"2016-01-01\"]\n  variables: {A: 'true', B: \"10\", C: !!str 5}\n";
    let job = job(text);
    assert_eq!(job.script, ["yes", "1", "~", ":a", "2016-01-01"]);
    assert_eq!(job.variables.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), ["true", "10", "5"]);
    assert_eq!(super::job("a: {script: [:word, !unknown b]}").script, ["word", "b"]);
}

#[test]
fn block_scalars_are_parsed() {
    let job = job("a:\n  script:\n    - |\n      one\n      two\n    - >-\n      three\n      four\n");
    assert_eq!(job.script, ["one\ntwo\n", "three four"]);
}

#[test]
fn only_the_first_document_is_read() {
    assert_eq!(file("---\na: {script: a}\n---\nb: [\n").jobs.len(), 1);
    assert_eq!(file("\u{feff}a: {script: a}\r\nb: {script: b}\r\n").jobs.len(), 2);
}

#[test]
fn unsupported_yaml_is_rejected() {
    for (text, expected) in [
        ("a: *missing", "Unknown alias: missing"),
        ("a: {script: \"\\0\"}", "(<unknown>): control characters are not allowed at line 1 column 1"),
        ("a: &a [*a]", "Unknown alias: a"),
        ("a: {script: 2016-01-01}", "Tried to load unspecified class: Date"),
        ("a: !ruby/object:File {}", "Tried to load unspecified class: File"),
        ("a: !ruby/regexp /x/", "Tried to load unspecified class: regexp"),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn invalid_utf8_is_rejected() {
    for (bytes, expected) in [
        (&b"a: \xff"[..], "invalid leading UTF-8 octet"),
        (b"a: \xc3(", "invalid leading UTF-8 octet"),
        (b"a: \xe2\x82(", "invalid trailing UTF-8 octet"),
        (b"a: \xe2\x82", "incomplete UTF-8 octet sequence"),
        (b"\xff\xfea\0", "invalid leading UTF-8 octet"),
    ] {
        let error = super::read(bytes).unwrap_err();
        assert_eq!(error, format!("(<unknown>): {expected} at line 1 column 1"), "{bytes:?}");
    }
    assert!(document::read("a: \u{85}\u{a0}\u{10ffff}").is_ok());
}
