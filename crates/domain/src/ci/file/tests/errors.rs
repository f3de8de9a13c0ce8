use super::error;

/// Returns the text of a job `rspec` with a script and these lines.
fn rspec(lines: &str) -> String {
    format!("rspec:\n  script: test\n{}", lines.lines().map(|line| format!("  {line}\n")).collect::<String>())
}

#[test]
fn file_level_errors_are_reported() {
    for (text, expected) in [
        ("", "Invalid configuration format"),
        ("# nothing\n", "Invalid configuration format"),
        ("---\n...\n", "Invalid configuration format"),
        ("invalid_yaml", "Invalid configuration format"),
        ("- a\n- b\n", "Invalid configuration format"),
        ("false", "Invalid configuration format"),
        ("{}", "jobs config should contain at least one visible job"),
        ("invalid: yaml: test", "(<unknown>): mapping values are not allowed in this context at line 1 column 14"),
        ("before_script: [bundle update]", "jobs config should contain at least one visible job"),
        (".hidden: {script: ls}", "jobs config should contain at least one visible job"),
        ("image: [test]\nrspec: {script: test}", "image config should be a string"),
        ("image: 2.1\nrspec: {script: test}", "image config should be a string"),
        ("image: :ruby\nrspec: {script: test}", "image config should be a string"),
        ("services: test\nrspec: {script: test}", "services config should be an array of strings"),
        ("services: [10, test]\nrspec: {script: test}", "services config should be an array of strings"),
        ("before_script: bundle\nrspec: {script: test}", "before_script config should be an array of strings"),
        ("after_script: bundle\nrspec: {script: test}", "after_script config should be an array of strings"),
        ("stages: test\nrspec: {script: test}", "stages config should be an array of strings"),
        ("stages: [true, test]\nrspec: {script: test}", "stages config should be an array of strings"),
        ("types: test\nrspec: {script: test}", "types config should be an array of strings"),
        ("variables: test\nrspec: {script: test}", "variables config should be a hash of key value pairs"),
        ("variables: {a: false}\nrspec: {script: test}", "variables config should be a hash of key value pairs"),
        ("variables: {a: 1}\nrspec: {script: test}", "variables config should be a hash of key value pairs"),
        ("variables: {1: a}\nrspec: {script: test}", "variables config should be a hash of key value pairs"),
        ("variables: {a: ~}\nrspec: {script: test}", "variables config should be a hash of key value pairs"),
        ("cache: test\nrspec: {script: test}", "cache config should be a hash"),
        ("cache: {policy: pull}\nrspec: {script: test}", "cache config contains unknown keys: policy"),
        ("cache: {untracked: test}\nrspec: {script: test}", "cache:untracked config should be a boolean value"),
        ("cache: {paths: test}\nrspec: {script: test}", "cache:paths config should be an array of strings"),
        ("cache: {key: 1}\nrspec: {script: test}", "cache:key config should be a string or symbol"),
    ] {
        assert_eq!(error(text), expected, "{text:?}");
    }
}

#[test]
fn job_errors_are_reported() {
    for (text, expected) in [
        ("extra: bundle update", "jobs:extra config should be a hash"),
        ("rspec: [test]", "jobs:rspec config should be a hash"),
        ("rspec: true", "jobs:rspec config should be a hash"),
        ("rspec:", "jobs:rspec config can't be blank"),
        ("rspec: false", "jobs:rspec config can't be blank"),
        ("rspec: {}", "jobs:rspec config can't be blank"),
        ("a: {script: x}\n.hidden:", "jobs:.hidden config can't be blank"),
        ("rspec: {script: test, foo: 1, bar: 2}", "jobs:rspec config contains unknown keys: foo, bar"),
        ("rspec: {script: test, Foo: 1}", "jobs:rspec config contains unknown keys: foo"),
        ("rspec: {script: test, on: 1}", "jobs:rspec config contains unknown keys: true"),
        ("rspec: {image: ruby}", "jobs:rspec script can't be blank"),
        ("rspec: {script: ''}", "jobs:rspec script can't be blank"),
        ("rspec: {script: []}", "jobs:rspec script can't be blank"),
        ("rspec: {script: ~}", "jobs:rspec script can't be blank"),
        ("RSpec: {image: ruby}", "jobs:rspec script can't be blank"),
        ("rspec: {script: 1}", "jobs:rspec:script config should be a string or an array of strings"),
        ("rspec: {script: [test, 1]}", "jobs:rspec:script config should be a string or an array of strings"),
        ("rspec: {script: [[test]]}", "jobs:rspec:script config should be a string or an array of strings"),
        ("rspec: {script: {a: b}}", "jobs:rspec:script config should be a string or an array of strings"),
        ("10: {script: test}", "jobs:10 name should be a symbol"),
        ("1.5: {script: test}", "jobs:1.5 name should be a symbol"),
        ("on: {script: test}", "jobs:true name should be a symbol"),
        ("[a]: {script: test}", "jobs:[] name should be a symbol"),
        ("'': {script: test}", "jobs:job name can't be blank"),
        ("~: {script: test}", "jobs:job name can't be blank"),
        ("off: {script: test}", "jobs:job name can't be blank"),
    ] {
        assert_eq!(error(text), expected, "{text:?}");
    }
}

#[test]
fn job_key_errors_are_reported() {
    for (lines, expected) in [
        ("image: [test]", "jobs:rspec:image config should be a string"),
        ("services: test", "jobs:rspec:services config should be an array of strings"),
        ("services: [10, test]", "jobs:rspec:services config should be an array of strings"),
        ("before_script: [10, test]", "jobs:rspec:before_script config should be an array of strings"),
        ("after_script: [10, test]", "jobs:rspec:after_script config should be an array of strings"),
        ("variables: [A, B]", "jobs:rspec:variables config should be a hash of key value pairs"),
        ("variables: {A: [b]}", "jobs:rspec:variables config should be a hash of key value pairs"),
        ("stage: 1", "jobs:rspec:stage config should be a string"),
        ("type: 1", "jobs:rspec:type config should be a string"),
        ("tags: mysql", "jobs:rspec tags should be an array of strings"),
        ("tags: [1]", "jobs:rspec tags should be an array of strings"),
        ("dependencies: build", "jobs:rspec dependencies should be an array of strings"),
        ("allow_failure: string", "jobs:rspec allow failure should be a boolean value"),
        ("when: 1", "jobs:rspec when should be on_success, on_failure, always or manual"),
        ("when: never", "jobs:rspec when should be on_success, on_failure, always or manual"),
        ("when: [always]", "jobs:rspec when should be on_success, on_failure, always or manual"),
        ("only: master", "jobs:rspec:only config should be an array of strings or regexps"),
        ("only: [1]", "jobs:rspec:only config should be an array of strings or regexps"),
        ("only: [\"/*.fixed/\"]", "jobs:rspec:only config should be an array of strings or regexps"),
        ("except: master", "jobs:rspec:except config should be an array of strings or regexps"),
        ("except: [\"/*.fixed/@group/project\"]", "jobs:rspec:except config should be an array of strings or regexps"),
        ("artifacts: test", "jobs:rspec:artifacts config should be a hash"),
        ("artifacts: {path: test}", "jobs:rspec:artifacts config contains unknown keys: path"),
        ("artifacts: {name: 1}", "jobs:rspec:artifacts name should be a string"),
        ("artifacts: {untracked: string}", "jobs:rspec:artifacts untracked should be a boolean value"),
        ("artifacts: {paths: string}", "jobs:rspec:artifacts paths should be an array of strings"),
        ("artifacts: {when: 1}", "jobs:rspec:artifacts when should be on_success, on_failure or always"),
        ("artifacts: {when: manual}", "jobs:rspec:artifacts when should be on_success, on_failure or always"),
        ("artifacts: {expire_in: 1}", "jobs:rspec:artifacts expire in should be a duration"),
        ("artifacts: {expire_in: 7 elephants}", "jobs:rspec:artifacts expire in should be a duration"),
        ("cache: {key: 1}", "jobs:rspec:cache:key config should be a string or symbol"),
        ("cache: {untracked: string}", "jobs:rspec:cache:untracked config should be a boolean value"),
        ("cache: {paths: string}", "jobs:rspec:cache:paths config should be an array of strings"),
        ("cache: []", "jobs:rspec:cache config should be a hash"),
        ("coverage: simplecov", "jobs:rspec:coverage config must be a regular expression"),
        ("coverage: /(/", "jobs:rspec:coverage config must be a regular expression"),
        ("coverage: 1", "jobs:rspec:coverage config must be a regular expression"),
    ] {
        let text = rspec(lines);
        assert_eq!(error(&text), expected, "{text}");
    }
}

#[test]
fn environment_errors_are_reported() {
    let chars = "name can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.' and spaces";
    let too_long = format!("environment: {{name: a, url: \"http://{}\"}}", "a".repeat(249));
    for (lines, expected) in [
        ("environment: 1", "config should be a hash or a string"),
        ("environment: [a]", "config should be a hash or a string"),
        ("environment: ''", "name can't be blank"),
        ("environment: {}", "name can't be blank"),
        ("environment: {url: a}", "name can't be blank"),
        ("environment: {name: 1}", chars),
        ("environment: qa:test", chars),
        ("environment: {name: \"a\\nb\"}", chars),
        ("environment: größe", chars),
        ("environment: {name: a, tier: b}", "config contains unknown keys: tier"),
        (&too_long, "url is too long (maximum is 255 characters)"),
        ("environment: {name: a, url: [b]}", "url should be a string"),
        ("environment: {name: a, action: pause}", "action should be start or stop"),
        ("environment: {name: a, on_stop: 1}", "on stop should be a string"),
    ] {
        let text = rspec(lines).replace("rspec", "deploy");
        assert_eq!(error(&text), format!("jobs:deploy:environment {expected}"), "{text}");
    }
}

#[test]
fn stage_and_dependency_errors_are_reported() {
    for (text, expected) in [
        ("rspec: {script: a, stage: acceptance}", "rspec job: stage parameter should be build, test, deploy"),
        ("RSpec: {script: a, type: acceptance}", "RSpec job: stage parameter should be build, test, deploy"),
        ("types: [build, test]\nrspec: {script: a, stage: x}", "rspec job: stage parameter should be build, test"),
        ("stages: []\nrspec: {script: a}", "rspec job: stage parameter should be "),
        ("stages: [build]\nrspec: {script: a}", "rspec job: stage parameter should be build"),
        ("test1: {script: a, dependencies: [foo]}", "test1 job: undefined dependency: foo"),
        ("test1: {script: a, dependencies: [.foo]}\n.foo: {script: a}", "test1 job: undefined dependency: .foo"),
        (
            "test1: {script: a, dependencies: [deploy]}\ndeploy: {script: a, stage: deploy}",
            "test1 job: dependency deploy is not defined in prior stages",
        ),
        (
            "test1: {script: a, dependencies: [test2]}\ntest2: {script: a}",
            "test1 job: dependency test2 is not defined in prior stages",
        ),
        (
            "test1: {script: a, dependencies: [test2]}\ntest2: {script: a, stage: x}",
            "test1 job: dependency test2 is not defined in prior stages",
        ),
    ] {
        assert_eq!(error(text), expected, "{text:?}");
    }
}

#[test]
fn on_stop_errors_are_reported() {
    let review = "review: {script: a, stage: deploy, environment: {name: review, on_stop: x}}\n";
    for (other, expected) in [
        ("", "is not defined"),
        (".x: {script: a, environment: {name: review, action: stop}}", "is not defined"),
        ("x: {script: a}", "does not have environment defined"),
        ("x: {script: a, environment: other}", "have different environment name"),
        ("x: {script: a, environment: {name: other, action: stop}}", "have different environment name"),
        ("x: {script: a, environment: review}", "needs to have action stop defined"),
        ("x: {script: a, environment: {name: review, action: start}}", "needs to have action stop defined"),
    ] {
        assert_eq!(error(&format!("{review}{other}")), format!("review job: on_stop job x {expected}"), "{other}");
    }
}

/// Each text has two errors, and only the first in the order of the checks is reported.
#[test]
fn only_the_first_error_is_reported() {
    for (text, expected) in [
        // The file is checked before its jobs, and its keys are not checked in the order of the text.
        ("rspec: 1\nimage: 1", "image config should be a string"),
        ("image: 1\nbefore_script: 1", "before_script config should be an array of strings"),
        ("services: 1\nimage: 1", "image config should be a string"),
        ("after_script: 1\nservices: 1", "services config should be an array of strings"),
        ("variables: 1\nafter_script: 1", "after_script config should be an array of strings"),
        ("stages: 1\nvariables: 1", "variables config should be a hash of key value pairs"),
        ("cache: 1\nstages: 1", "stages config should be an array of strings"),
        ("cache: {paths: 1, key: 1}\na: 1", "cache:key config should be a string or symbol"),
        ("cache: {paths: 1, untracked: 1}\na: 1", "cache:untracked config should be a boolean value"),
        ("cache: 1", "cache config should be a hash"),
        // Jobs are checked in the order of the file.
        ("b: 1\na: 2", "jobs:b config should be a hash"),
        (".h:\na: 1", "jobs:.h config can't be blank"),
        // Within a job: its keys, its script, its name, its attributes, its entries.
        ("rspec: {foo: 1}", "jobs:rspec config contains unknown keys: foo"),
        ("1: {image: 1}", "jobs:1 script can't be blank"),
        ("1: {script: a, tags: 1}", "jobs:1 name should be a symbol"),
        ("a: {script: a, allow_failure: 1, tags: 1}", "jobs:a tags should be an array of strings"),
        ("a: {script: a, when: 1, allow_failure: 1}", "jobs:a allow failure should be a boolean value"),
        ("a: {script: a, dependencies: 1, when: 1}", "jobs:a when should be on_success, on_failure, always or manual"),
        ("a: {script: 1, dependencies: 1}", "jobs:a dependencies should be an array of strings"),
        ("a: {script: 1, before_script: 1}", "jobs:a:before_script config should be an array of strings"),
        ("a: {stage: 1, script: 1}", "jobs:a:script config should be a string or an array of strings"),
        ("a: {script: a, after_script: 1, stage: 1}", "jobs:a:stage config should be a string"),
        ("a: {script: a, cache: 1, after_script: 1}", "jobs:a:after_script config should be an array of strings"),
        ("a: {script: a, image: 1, cache: 1}", "jobs:a:cache config should be a hash"),
        ("a: {script: a, services: 1, image: 1}", "jobs:a:image config should be a string"),
        ("a: {script: a, only: 1, services: 1}", "jobs:a:services config should be an array of strings"),
        ("a: {script: a, except: 1, only: 1}", "jobs:a:only config should be an array of strings or regexps"),
        ("a: {script: a, variables: 1, except: 1}", "jobs:a:except config should be an array of strings or regexps"),
        ("a: {script: a, artifacts: 1, variables: 1}", "jobs:a:variables config should be a hash of key value pairs"),
        ("a: {script: a, environment: 1, artifacts: 1}", "jobs:a:artifacts config should be a hash"),
        ("a: {script: a, coverage: 1, environment: 1}", "jobs:a:environment config should be a hash or a string"),
        ("a: {script: a, artifacts: {name: 1, x: 1}}", "jobs:a:artifacts config contains unknown keys: x"),
        ("a: {script: a, artifacts: {untracked: 1, name: 1}}", "jobs:a:artifacts name should be a string"),
        ("a: {script: a, artifacts: {paths: 1, untracked: 1}}", "jobs:a:artifacts untracked should be a boolean value"),
        ("a: {script: a, artifacts: {when: 1, paths: 1}}", "jobs:a:artifacts paths should be an array of strings"),
        (
            "a: {script: a, artifacts: {expire_in: 1, when: 1}}",
            "jobs:a:artifacts when should be on_success, on_failure or always",
        ),
        ("a: {script: a, environment: {x: 1}}", "jobs:a:environment name can't be blank"),
        (
            "a: {script: a, environment: {name: b, action: 1, x: 1}}",
            "jobs:a:environment config contains unknown keys: x",
        ),
        // References between jobs are checked after all jobs have been read.
        ("a: {script: a, stage: x}\nb: 1", "jobs:b config should be a hash"),
        ("a: {script: a, dependencies: [x]}\nb: {script: b, stage: y}", "a job: undefined dependency: x"),
        ("a: {script: a, stage: x, dependencies: [x]}", "a job: stage parameter should be build, test, deploy"),
        ("a: {script: a, dependencies: [x], environment: {name: e, on_stop: y}}", "a job: undefined dependency: x"),
        // A deprecated key is not checked if the current one is present.
        ("stages: [test]\ntypes: 1\na: 1", "jobs:a config should be a hash"),
        ("a: {script: a, stage: x, type: 1}", "a job: stage parameter should be build, test, deploy"),
    ] {
        assert_eq!(error(text), expected, "{text:?}");
    }
}
