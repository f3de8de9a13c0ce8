//! The variables of a build: predefined ones, and those of its project ([`super::variable`]). Most predefined variables
//! have two names, because runners and scripts use one or the other.

use holdfast_domain::InstanceUrls;
use holdfast_domain::ci::file::When;
use holdfast_domain::site::ProjectLinks;
use holdfast_store::ci::job::JobDetails;
use holdfast_store::ci::runner::Runner;

/// A variable in the environment of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobVariable {
    pub key: String,
    pub value: String,
    /// Whether the value is not secret.
    pub is_public: bool,
    /// Whether the runner masks the value in the trace.
    pub is_masked: bool,
}

const MIN_MASKED_LENGTH: usize = 8;

/// Returns whether runners mask a secret value in traces. Masking a short value would remove it from ordinary text,
/// too.
pub(super) fn is_masked(value: &str) -> bool {
    value.len() >= MIN_MASKED_LENGTH
}

/// Returns the variables of a build. Later ones override earlier ones: those of the instance, of the CI file, of the
/// project, and of the request that created the pipeline.
pub(super) fn variables_for_build(
    site: &InstanceUrls,
    details: &JobDetails,
    runner: &Runner,
    token: &str,
    repository_url: &str,
    secrets: Vec<(String, String)>,
) -> Vec<JobVariable> {
    let mut variables = instance_variables(site, details, runner);
    let secret = |key: &str, value: &str| JobVariable {
        key: key.into(),
        value: value.into(),
        is_public: false,
        is_masked: true,
    };
    for name in ["CI_BUILD_TOKEN", "CI_JOB_TOKEN"] {
        variables.push(secret(name, token));
    }
    for name in ["CI_BUILD_REPO", "CI_REPOSITORY_URL"] {
        variables.push(JobVariable { is_masked: false, ..secret(name, repository_url) });
    }
    for (key, value) in &details.options.variables {
        variables.push(public_variable(key, value.clone()));
    }
    if let Some(environment) = &details.options.environment {
        let name = expand(&environment.name, &variables);
        variables.push(public_variable("CI_ENVIRONMENT_SLUG", environment_slug(&name)));
        variables.push(public_variable("CI_ENVIRONMENT_NAME", name));
        if let Some(url) = &environment.url {
            variables.push(public_variable("CI_ENVIRONMENT_URL", expand(url, &variables)));
        }
    }
    let secret_variable =
        |(key, value): (String, String)| JobVariable { is_masked: is_masked(&value), ..secret(&key, &value) };
    variables.extend(secrets.into_iter().map(secret_variable));
    variables
}

fn public_variable(key: &str, value: String) -> JobVariable {
    JobVariable { key: key.into(), value, is_public: true, is_masked: false }
}

fn instance_variables(site: &InstanceUrls, details: &JobDetails, runner: &Runner) -> Vec<JobVariable> {
    let path = format!("{}/{}", details.namespace_path, details.project_path);
    let server = site.url("");
    let host = server.split("://").nth(1).unwrap_or_default().split([':', '/']).next().unwrap_or_default().to_owned();
    let slug = slug(&details.r#ref);
    let yes = || "true".to_owned();
    let mut pairs: Vec<(&[&str], String)> = vec![
        (&["CI", "GITLAB_CI"], yes()),
        (&["CI_BUILD_ID", "CI_JOB_ID"], details.id.to_string()),
        (&["CI_BUILD_REF", "CI_COMMIT_SHA"], details.sha.clone()),
        (&["CI_BUILD_BEFORE_SHA", "CI_COMMIT_BEFORE_SHA"], details.before_sha.clone()),
        (&["CI_BUILD_REF_NAME", "CI_COMMIT_REF_NAME"], details.r#ref.clone()),
        (&["CI_BUILD_REF_SLUG", "CI_COMMIT_REF_SLUG"], slug),
        (&["CI_BUILD_NAME", "CI_JOB_NAME"], details.name.clone()),
        (&["CI_BUILD_STAGE", "CI_JOB_STAGE"], details.stage.clone()),
        (&["CI_PIPELINE_ID"], details.pipeline_id.to_string()),
        (&["CI_PROJECT_ID"], details.project_id.to_string()),
        (&["CI_PROJECT_NAME"], details.project_path.clone()),
        (&["CI_PROJECT_PATH"], path.clone()),
        (&["CI_PROJECT_NAMESPACE"], details.namespace_path.clone()),
        (&["CI_PROJECT_URL"], site.url(ProjectLinks::new(&path).home())),
        (&["CI_SERVER_NAME"], "Holdfast".into()),
        (&["CI_SERVER_VERSION"], env!("CARGO_PKG_VERSION").into()),
        (&["CI_SERVER_REVISION"], "0".into()),
        (&["CI_SERVER_URL"], server),
        (&["CI_SERVER_HOST"], host),
        (&["CI_CONFIG_PATH"], crate::repository::browse::ci_file::PATH.into()),
        (&["CI_RUNNER_ID"], runner.id.to_string()),
        (&["CI_RUNNER_DESCRIPTION"], runner.description.clone().unwrap_or_default()),
        (&["CI_RUNNER_TAGS"], runner.tags.join(", ")),
    ];
    if details.tag {
        pairs.push((&["CI_BUILD_TAG", "CI_COMMIT_TAG"], details.r#ref.clone()));
    }
    if details.triggered {
        pairs.push((&["CI_BUILD_TRIGGERED", "CI_PIPELINE_TRIGGERED"], yes()));
    }
    if details.run_when == When::Manual {
        pairs.push((&["CI_BUILD_MANUAL", "CI_JOB_MANUAL"], yes()));
    }
    if let (Some(id), Some(email)) = (details.user_id, &details.user_email) {
        pairs.push((&["GITLAB_USER_ID"], id.to_string()));
        pairs.push((&["GITLAB_USER_EMAIL"], email.clone()));
    }
    pairs
        .into_iter()
        .flat_map(|(names, value)| names.iter().map(move |name| public_variable(name, value.clone())))
        .collect()
}

/// Returns a slug that is valid in a host name.
fn slug(name: &str) -> String {
    let to_slug_char = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().map(to_slug_char).take(63).collect();
    slug.trim_matches('-').to_owned()
}

/// Returns a slug of at most 24 characters that begins with a letter.
fn environment_slug(name: &str) -> String {
    let slug = slug(name);
    let slug = if slug.starts_with(|c: char| c.is_ascii_lowercase()) { slug } else { format!("env-{slug}") };
    slug.chars().take(24).collect::<String>().trim_matches('-').to_owned()
}

/// Expands `$NAME` and `${NAME}`. An unknown variable expands to nothing.
fn expand(text: &str, variables: &[JobVariable]) -> String {
    let value = |name: &str| variables.iter().rev().find(|it| it.key == name).map_or("", |it| it.value.as_str());
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let is_name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if let Some((name, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            expanded.push_str(value(name));
            rest = after;
        } else {
            let end = after.find(|c| !is_name_char(c)).unwrap_or(after.len());
            if end == 0 {
                expanded.push('$');
            }
            expanded.push_str(value(&after[..end]));
            rest = &after[end..];
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_slugs() {
        assert_eq!(slug("Feature/Ünï_1-"), "feature--n--1");
        assert_eq!(slug(&"x".repeat(100)).len(), 63);
        assert_eq!(environment_slug("2nd/place"), "env-2nd-place");
        assert_eq!(environment_slug("review/a-very-long-name-of-a-branch"), "review-a-very-long-name");
    }

    #[test]
    fn variables_in_environment_names_are_expanded() {
        let variables =
            [public_variable("A", "1".into()), public_variable("AB", "2".into()), public_variable("A", "3".into())];
        assert_eq!(expand("x-$A-${AB}y$AB $ ${A $NONE.", &variables), "x-3-2y2 $ ${A .");
    }
}
