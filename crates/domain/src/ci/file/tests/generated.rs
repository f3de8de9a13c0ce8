use proptest::prelude::*;

use super::super::{duration, read};

/// Words with a meaning in CI files or in YAML.
const WORDS: [&str; 58] = [
    "script",
    "stage",
    "stages",
    "types",
    "type",
    "image",
    "services",
    "before_script",
    "after_script",
    "variables",
    "cache",
    "key",
    "untracked",
    "paths",
    "only",
    "except",
    "tags",
    "allow_failure",
    "when",
    "dependencies",
    "artifacts",
    "name",
    "expire_in",
    "environment",
    "url",
    "action",
    "on_stop",
    "coverage",
    "build",
    "test",
    "deploy",
    "branches",
    "/a.*b/",
    "/(/",
    "yes",
    "~",
    "1",
    "1.5",
    "1:30",
    "2016-01-01",
    ":sym",
    "<<",
    "*a",
    "&a",
    "&b x",
    "*b",
    "!!str",
    "'q",
    "\"q\"",
    "|",
    ">",
    "{}",
    "[]",
    "[a, b]",
    "{a: b}",
    ".hidden",
    "stop",
    "1 day",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(&WORDS[..]).prop_map(str::to_owned), 1 => "\\PC{0,12}"]
}

/// Generates lines that look like YAML and sometimes are.
fn lines() -> impl Strategy<Value = String> {
    let line =
        (0_usize..5, proptest::sample::select(&["", "- ", "? ", "- - "][..]), word(), proptest::option::of(word()));
    proptest::collection::vec(line, 0..25).prop_map(|lines| {
        let line = |(indent, dash, word, value): (usize, &str, String, Option<String>)| {
            let value = value.map_or_else(String::new, |value| format!(": {value}"));
            format!("{}{dash}{word}{value}\n", "  ".repeat(indent))
        };
        lines.into_iter().map(line).collect()
    })
}

/// Generates nested maps of arbitrary values.
fn structure() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i32>().prop_map(Into::into),
        word().prop_map(Into::into),
    ];
    let inner = leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::hash_map(word(), inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    });
    proptest::collection::hash_map(word(), inner, 0..6).prop_map(|map| map.into_iter().collect())
}

#[derive(Clone, Debug)]
struct JobSpec {
    name: String,
    stage: usize,
    script: Vec<String>,
    tags: Vec<String>,
    variables: Vec<(String, String)>,
    allow_failure: bool,
}

/// Generates texts that mean the same in JSON quotes and in YAML.
fn text() -> impl Strategy<Value = String> {
    "[ -~äß€😀\n]{1,20}".prop_filter("blank", |text| !text.trim().is_empty())
}

fn jobs() -> impl Strategy<Value = Vec<JobSpec>> {
    let variables = proptest::collection::hash_map("[A-Z_]{1,8}", text(), 0..4);
    let job = (
        0_usize..3,
        proptest::collection::vec(text(), 1..4),
        proptest::collection::vec(text(), 0..3),
        variables,
        any::<bool>(),
    );
    proptest::collection::hash_map("j[ -~äß]{0,10}", job, 1..8).prop_map(|jobs| {
        let spec = |(name, (stage, script, tags, variables, allow_failure))| {
            let variables = variables_in_order(variables);
            JobSpec { name, stage, script, tags, variables, allow_failure }
        };
        jobs.into_iter().map(spec).collect()
    })
}

fn variables_in_order(variables: std::collections::HashMap<String, String>) -> Vec<(String, String)> {
    variables.into_iter().collect()
}

/// Writes jobs as YAML. Maps are written by hand, because JSON maps would lose the order.
fn to_yaml(jobs: &[JobSpec]) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let list = |texts: &[String]| serde_json::to_string(texts).unwrap();
    let mut text = "stages: [one, two, three]\n".to_owned();
    for job in jobs {
        let variables: Vec<String> =
            job.variables.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value))).collect();
        text += &format!(
            "{}:\n  stage: {}\n  script: {}\n  tags: {}\n  variables: {{{}}}\n  allow_failure: {}\n",
            quoted(&job.name),
            ["one", "two", "three"][job.stage],
            list(&job.script),
            list(&job.tags),
            variables.join(", "),
            job.allow_failure
        );
    }
    text
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
    }

    #[test]
    fn random_texts_never_panic(text in "[-a-z:{}\\[\\]&*!|>'\"%@`#?,~<. \n\t0-9é]{0,200}") {
        let _ = read(text.as_bytes());
        let _ = duration::parse_seconds(&text);
    }

    #[test]
    fn random_lines_never_panic(text in lines()) {
        let _ = read(text.as_bytes());
    }

    #[test]
    fn random_structures_never_panic(structure in structure()) {
        let _ = read(structure.to_string().as_bytes());
    }

    #[test]
    fn random_durations_never_panic(text in "([0-9.:, ]{0,5}\\PC{0,6}(days?|mos|h|and)?){0,4}") {
        let _ = duration::parse_seconds(&text);
    }

    #[test]
    fn generated_files_parse_back(expected in jobs()) {
        let text = to_yaml(&expected);
        let file = read(text.as_bytes()).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(file.jobs.len(), expected.len());
        for (job, expected) in file.jobs.iter().zip(&expected) {
            prop_assert_eq!(&job.name, &expected.name);
            prop_assert_eq!(job.stage_index, expected.stage);
            prop_assert_eq!(&job.script, &expected.script);
            prop_assert_eq!(&job.tags, &expected.tags);
            prop_assert_eq!(&job.variables, &expected.variables);
            prop_assert_eq!(job.allow_failure, expected.allow_failure);
        }
    }
}
