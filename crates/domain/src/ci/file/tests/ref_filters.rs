use super::{PipelineTarget, branch, file};

/// Returns whether a job with these filters runs for the target.
fn runs(only_and_except: &str, target: &PipelineTarget<'_>) -> bool {
    let file = file(&format!("a:\n  script: a\n{only_and_except}"));
    !file.into_jobs_for(target).is_empty()
}

#[test]
fn only_and_except_select_jobs_by_ref() {
    let tag = |ref_name| PipelineTarget { is_tag: true, ..branch(ref_name) };
    let triggered = PipelineTarget { is_triggered: true, ..branch("master") };
    let elsewhere = PipelineTarget { project_path: "fork/project", ..branch("master") };
    for (filters, target, expected) in [
        ("", branch("master"), true),
        ("", tag("v1"), true),
        ("", triggered, true),
        ("  only: []\n", branch("master"), true),
        ("  only: [master]\n", branch("master"), true),
        ("  only: [master]\n", branch("masters"), false),
        ("  only: [master]\n", tag("master"), true),
        ("  only: [master]\n", triggered, true),
        ("  only: [branches]\n", branch("x"), true),
        ("  only: [branches]\n", tag("x"), false),
        ("  only: [branches]\n", tag("branches"), true),
        ("  only: [tags]\n", branch("x"), false),
        ("  only: [tags]\n", tag("x"), true),
        ("  only: [:tags]\n", tag("x"), true),
        ("  only: [triggers]\n", branch("master"), false),
        ("  only: [triggers]\n", triggered, true),
        ("  only: [a, tags, master]\n", branch("master"), true),
        ("  except: [triggers]\n", triggered, false),
        ("  except: [master]\n", branch("master"), false),
        ("  except: [master]\n", branch("other"), true),
        ("  except: [tags, branches]\n", branch("other"), false),
        ("  only: [branches]\n  except: [master]\n", branch("other"), true),
        ("  only: [branches]\n  except: [master]\n", branch("master"), false),
        ("  only: [master]\n  except: [master]\n", branch("master"), false),
        ("  only: [/^issue-.*$/]\n", branch("issue-1"), true),
        ("  only: [/^issue-.*$/]\n", branch("my-issue-1"), false),
        ("  only: [/issue/]\n", branch("my-issue-1"), true),
        ("  only: [/^v\\d+\\.\\d+$/]\n", tag("v1.10"), true),
        ("  only: [/^V/]\n", tag("v1"), false),
        ("  only: [/(?i)^V/]\n", tag("v1"), true),
        ("  except: [/wip/]\n", branch("wip-x"), false),
        ("  only: [//]\n", branch("anything"), true),
        ("  only: [/]\n", branch("anything"), true),
        ("  only: ['']\n", branch("anything"), false),
        ("  only: [/a]\n", branch("a"), false),
        ("  only: [master@group/project]\n", branch("master"), true),
        ("  only: [master@group/project]\n", elsewhere, false),
        ("  only: [master@Group/Project]\n", branch("master"), false),
        ("  only: [branches@group/project]\n", branch("x"), true),
        ("  only: [branches@group/project]\n", elsewhere, false),
        ("  only: [/^mas/@group/project]\n", branch("master"), true),
        ("  only: [/^mas/@group/project]\n", elsewhere, false),
        ("  except: [branches@group/project]\n", elsewhere, true),
        ("  except: [branches@group/project]\n", branch("master"), false),
        ("  only: ['@group/project']\n", branch("master"), false),
        ("  only: [/a@b/]\n", branch("a@b"), false),
    ] {
        assert_eq!(runs(filters, &target), expected, "{filters} {target:?}");
    }
}

#[test]
fn jobs_are_ordered_by_stage_then_position() {
    let file = file(
        "stages: [one, two, three]\nd: {script: a, stage: three}\nb: {script: a, stage: two}\na: {script: a, stage: one}\n\
         c: {script: a, stage: two}\ne: {script: a, stage: one, only: [tags]}\n",
    );
    let names: Vec<&str> = file.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["d", "b", "a", "c", "e"], "as the file has them");
    let names: Vec<String> = file.into_jobs_for(&branch("master")).into_iter().map(|job| job.name).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[test]
fn expensive_patterns_are_rejected() {
    for pattern in ["(?=a)", "(a)\\\\1", "(((a{100}){100}){100}){100}", "a{99999}", "\\\\pL{900}"] {
        let error = super::error(&format!("a: {{script: a, only: [\"/{pattern}/\"]}}"));
        assert_eq!(error, "jobs:a:only config should be an array of strings or regexps", "{pattern}");
    }
    let text = "a: {script: a, only: [\"/^(a+)+$/\"]}";
    let name = format!("{}b", "a".repeat(200));
    assert!(file(text).into_jobs_for(&branch(&name)).is_empty());
}

#[test]
fn common_ref_patterns_are_accepted() {
    for (pattern, name) in [
        (r"^(feature|bugfix|hotfix)/[A-Z]+-\d+[\w-]*$", "feature/ABC-12_x-y"),
        (r"^v?\d+\.\d+\.\d+(-(alpha|beta|rc)\.?\d*)?$", "v1.20.3-rc.1"),
        (r"^[\w.-]+/[\w.-]+/[\w.-]+$", "a/b.c/d_e-f"),
        (r"\A[^\W_]+\z", "abc"),
        (r"^release-[[:digit:]]{4}\/\w{1,20}$", "release-2016/x"),
    ] {
        assert!(runs(&format!("  only: ['/{pattern}/']\n"), &branch(name)), "{pattern}");
    }
}
