use super::super::{Artifacts, ArtifactsWhen, Cache, Environment, EnvironmentAction, When};
use super::{error, file, job};

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn absent_keys_get_defaults() {
    let file = file("rspec: {script: rspec}");
    assert_eq!(file.stages, ["build", "test", "deploy"]);
    let job = &file.jobs[0];
    assert_eq!((job.name.as_str(), job.stage.as_str(), job.stage_index), ("rspec", "test", 1));
    assert_eq!(job.script, ["rspec"]);
    assert!(job.after_script.is_empty() && job.services.is_empty() && job.variables.is_empty() && job.tags.is_empty());
    assert_eq!((job.image.as_ref(), job.allow_failure, job.when), (None, false, When::OnSuccess));
    assert_eq!((&job.dependencies, &job.artifacts, &job.cache), (&None, &None, &None));
    assert_eq!((&job.environment, &job.coverage), (&None, &None));
}

#[test]
fn null_values_count_as_absent() {
    let file = file(
        "image:\nservices: ~\nstages:\nbefore_script:\nafter_script:\nvariables:\ncache:\nrspec:\n  script: rspec\n  \
         stage:\n  only:\n  except:\n  tags:\n  when:\n  allow_failure:\n  dependencies:\n  artifacts:\n  environment:\n  \
         coverage:\n  cache:\n  variables:\n  image:\n",
    );
    assert_eq!((file.stages.len(), file.jobs[0].stage_index), (3, 1));
    assert_eq!(file.jobs[0].dependencies, None);
}

#[test]
fn scripts_are_parsed() {
    for (text, script, after) in [
        ("a: {script: one}", vec!["one"], vec![]),
        ("a: {script: [one, two]}", vec!["one", "two"], vec![]),
        ("a:\n  script: |\n    one\n    two\n", vec!["one\ntwo\n"], vec![]),
        ("a: {script: [one], before_script: [zero]}", vec!["zero", "one"], vec![]),
        ("before_script: [all]\na: {script: one}", vec!["all", "one"], vec![]),
        ("before_script: [all]\na: {script: one, before_script: [own]}", vec!["own", "one"], vec![]),
        ("before_script: [all]\na: {script: one, before_script: []}", vec!["one"], vec![]),
        ("after_script: [all]\na: {script: one}", vec!["one"], vec!["all"]),
        ("after_script: [all]\na: {script: one, after_script: [own]}", vec!["one"], vec!["own"]),
        ("after_script: [all]\na: {script: one, after_script: []}", vec!["one"], vec![]),
    ] {
        let job = job(text);
        assert_eq!((job.script, job.after_script), (owned(script), owned(after)), "{text}");
    }
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

#[test]
fn images_and_services_are_parsed() {
    for (text, image, services) in [
        ("a: {script: a, image: 'ruby:2.1', services: [mysql]}", Some("ruby:2.1"), vec!["mysql"]),
        ("image: ruby\nservices: [mysql]\na: {script: a}", Some("ruby"), vec!["mysql"]),
        (
            "image: ruby\nservices: [mysql]\na: {script: a, image: go, services: [redis, 'docker:dind']}",
            Some("go"),
            vec!["redis", "docker:dind"],
        ),
        ("services: [mysql]\na: {script: a, services: []}", None, vec![]),
    ] {
        let job = job(text);
        assert_eq!((job.image.as_deref(), job.services), (image, owned(services)), "{text}");
    }
}

#[test]
fn stages_are_parsed() {
    for (text, stage, index) in [
        ("a: {script: a, stage: deploy}", "deploy", 2),
        ("a: {script: a, type: build}", "build", 0),
        ("a: {script: a, type: build, stage: deploy}", "deploy", 2),
        ("stages: [x, y]\na: {script: a, stage: y}", "y", 1),
        ("types: [x, y]\na: {script: a, stage: y}", "y", 1),
        ("types: [x]\nstages: [y, test]\na: {script: a}", "test", 1),
        ("stages: [x, x, test, x]\na: {script: a, stage: x}", "x", 0),
    ] {
        let job = job(text);
        assert_eq!((job.stage.as_str(), job.stage_index), (stage, index), "{text}");
    }
}

#[test]
fn variables_are_parsed() {
    let text = "variables: {A: '1', B: two, ':C': :three}\na: {script: a}\nb: {script: b, variables: {D: d, B: own}}";
    let jobs = file(text).jobs;
    assert_eq!(jobs[0].variables, pairs(&[("A", "1"), ("B", "two"), (":C", "three")]));
    assert_eq!(jobs[1].variables, pairs(&[("A", "1"), ("B", "own"), (":C", "three"), ("D", "d")]));
}

#[test]
fn caches_are_parsed() {
    let full = Cache { key: Some("k".into()), untracked: true, paths: owned(vec!["a/", "b"]) };
    for (text, cache) in [
        ("a: {script: a, cache: {key: k, untracked: true, paths: [a/, b]}}", Some(full.clone())),
        ("cache: {key: :k, untracked: yes, paths: [a/, b]}\na: {script: a}", Some(full)),
        (
            "cache: {key: k, paths: [a/, b]}\na: {script: a, cache: {untracked: on}}",
            Some(Cache { untracked: true, ..Cache::default() }),
        ),
        ("cache: {key: k}\na: {script: a, cache: {}}", Some(Cache::default())),
        ("a: {script: a}", None),
    ] {
        assert_eq!(job(text).cache, cache, "{text}");
    }
}

#[test]
fn job_attributes_are_parsed() {
    let text = "b: {script: b, stage: build}\na: {script: a, tags: [ruby, postgres], allow_failure: true, when: manual, \
                dependencies: [b], coverage: '/\\d+\\.\\d+%/'}";
    let job = file(text).jobs.remove(1);
    assert_eq!((job.tags, job.allow_failure, job.when), (owned(vec!["ruby", "postgres"]), true, When::Manual));
    assert_eq!((job.dependencies, job.coverage.as_deref()), (Some(owned(vec!["b"])), Some("\\d+\\.\\d+%")));
    assert_eq!(super::job("a: {script: a, dependencies: []}").dependencies, Some(vec![]));
}

#[test]
fn when_values_are_parsed() {
    for when in When::ALL {
        assert_eq!(job(&format!("a: {{script: a, when: {}}}", when.as_str())).when, when);
        assert_eq!(serde_json::to_value(when).unwrap(), when.as_str());
    }
    assert_eq!(When::from_str_opt("never"), None);
    for when in ArtifactsWhen::ALL {
        let text = format!("a: {{script: a, artifacts: {{when: {}}}}}", when.as_str());
        assert_eq!(job(&text).artifacts.unwrap().when, when);
        assert_eq!(serde_json::to_value(when).unwrap(), when.as_str());
    }
}

#[test]
fn artifacts_are_parsed() {
    let text = "a: {script: a, artifacts: {name: n, untracked: true, paths: [out/], when: always, expire_in: 7d}}";
    let artifacts = job(text).artifacts.unwrap();
    let expected = Artifacts {
        name: Some("n".into()),
        untracked: true,
        paths: owned(vec!["out/"]),
        when: ArtifactsWhen::Always,
        expire_in: Some("7d".into()),
    };
    assert_eq!(artifacts, expected);
    let json = serde_json::to_string(&artifacts).unwrap();
    assert!(json.contains(r#""when":"always""#), "{json}");
    assert_eq!(serde_json::from_str::<Artifacts>(&json).unwrap(), expected);
    let nothing =
        Artifacts { name: None, untracked: false, paths: vec![], when: ArtifactsWhen::OnSuccess, expire_in: None };
    assert_eq!(job("a: {script: a, artifacts: {}}").artifacts, Some(nothing));
}

#[test]
fn environments_are_parsed() {
    let make_environment = |name: &str, url: Option<&str>, action, on_stop: Option<&str>| Environment {
        name: name.into(),
        url: url.map(str::to_owned),
        action,
        on_stop: on_stop.map(str::to_owned),
    };
    let (start, stop) = (EnvironmentAction::Start, EnvironmentAction::Stop);
    let longest_url = format!("http://{}", "a".repeat(248));
    for (yaml, environment) in [
        ("prod", make_environment("prod", None, start, None)),
        ("review/$CI_REF-{a}.b_c d", make_environment("review/$CI_REF-{a}.b_c d", None, start, None)),
        ("{name: prod}", make_environment("prod", None, start, None)),
        ("{name: prod, url: 'http://x'}", make_environment("prod", Some("http://x"), start, None)),
        (&format!("{{name: prod, url: '{longest_url}'}}"), make_environment("prod", Some(&longest_url), start, None)),
        ("{name: prod, action: stop}", make_environment("prod", None, stop, None)),
        ("{name: prod, action: start, on_stop: halt}", make_environment("prod", None, start, Some("halt"))),
    ] {
        let text = format!(
            "a: {{script: a, environment: {yaml}}}\nhalt: {{script: b, environment: {{name: prod, action: stop}}}}"
        );
        // An unquoted `{` begins a map.
        let text = if yaml.contains("{a}") { text.replace(yaml, &format!("'{yaml}'")) } else { text };
        assert_eq!(job(&text).environment, Some(environment), "{text}");
    }
    assert_eq!((start.as_str(), stop.as_str()), ("start", "stop"));
    assert_eq!(serde_json::to_value(stop).unwrap(), "stop");
}

#[test]
fn hidden_jobs_are_not_run() {
    for hidden in ["{image: ruby}", "[a, b]", "text", "1", "{script: 1, foo: 2}"] {
        let file = file(&format!(".hidden: {hidden}\nnormal: {{script: test}}"));
        assert_eq!(file.jobs.len(), 1, "{hidden}");
    }
    assert_eq!(error(".hidden: {script: a}\n.other: b"), "jobs config should contain at least one visible job");
}

#[test]
fn job_names_keep_case_and_spaces() {
    let names: Vec<_> = file(
        "RSpec 1:2: {script: a}\n'10': {script: b}\nпроверка: {script: c}\n:symbol: {script: d}\n'a: b': {script: e}",
    )
    .jobs
    .into_iter()
    .map(|job| job.name)
    .collect();
    assert_eq!(names, ["RSpec 1:2", "10", "проверка", "symbol", "a: b"]);
}

#[test]
fn coverage_is_the_last_number_found() {
    use crate::ci::file::find_coverage;
    let trace = "TOTAL 10.5%\nTOTAL 87.25%\nDone 3";
    assert_eq!(find_coverage(r"TOTAL [\d.]+%", trace), Some(87.25));
    assert_eq!(find_coverage(r"TOTAL (\d+)", trace), Some(87.0));
    assert_eq!(find_coverage(r"Done \d+", trace), Some(3.0));
    for (pattern, trace) in [("none", trace), ("Done", trace), (r"[\d.]+", "."), ("(", trace)] {
        assert_eq!(find_coverage(pattern, trace), None, "{pattern}");
    }
}
