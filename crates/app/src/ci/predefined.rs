//! What every build finds in its environment. Most of it goes by two names: runners and scripts know the one or the other.

use holdfast_domain::Site;
use holdfast_store::ci::job::Job as Facts;
use holdfast_store::ci::runner::Runner;

/// What a build finds in its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub key: String,
    pub value: String,
    /// Whether anybody may see it.
    pub public: bool,
    /// Whether it is to be left out of what the build says.
    pub masked: bool,
}

const SHORT: usize = 8;

/// Later ones win: those of the instance, those of the file, the project's secrets, and what a trigger gave.
pub(super) fn all(
    site: &Site,
    it: &Facts,
    runner: &Runner,
    token: &str,
    repository_url: &str,
    secrets: Vec<(String, String)>,
) -> Vec<Variable> {
    let mut variables = of_instance(site, it, runner);
    let secret =
        |key: &str, value: &str| Variable { key: key.into(), value: value.into(), public: false, masked: true };
    for name in ["CI_BUILD_TOKEN", "CI_JOB_TOKEN"] {
        variables.push(secret(name, token));
    }
    for name in ["CI_BUILD_REPO", "CI_REPOSITORY_URL"] {
        variables.push(Variable { masked: false, ..secret(name, repository_url) });
    }
    for (key, value) in &it.options.variables {
        variables.push(public(key, value.clone()));
    }
    if let Some(environment) = &it.options.environment {
        let name = expand(&environment.name, &variables);
        variables.push(public("CI_ENVIRONMENT_SLUG", environment_slug(&name)));
        variables.push(public("CI_ENVIRONMENT_NAME", name));
        if let Some(url) = &environment.url {
            variables.push(public("CI_ENVIRONMENT_URL", expand(url, &variables)));
        }
    }
    // A short one would be left out of everything that is said.
    let hidden = |(key, value): (String, String)| Variable { masked: value.len() >= SHORT, ..secret(&key, &value) };
    variables.extend(secrets.into_iter().map(hidden));
    variables
}

fn public(key: &str, value: String) -> Variable {
    Variable { key: key.into(), value, public: true, masked: false }
}

fn of_instance(site: &Site, it: &Facts, runner: &Runner) -> Vec<Variable> {
    let path = format!("{}/{}", it.namespace_path, it.project_path);
    let server = site.url("");
    let host = server.split("://").nth(1).unwrap_or_default().split([':', '/']).next().unwrap_or_default().to_owned();
    let slug = slug(&it.r#ref);
    let yes = || "true".to_owned();
    let mut pairs: Vec<(&[&str], String)> = vec![
        (&["CI", "GITLAB_CI"], yes()),
        (&["CI_BUILD_ID", "CI_JOB_ID"], it.id.to_string()),
        (&["CI_BUILD_REF", "CI_COMMIT_SHA"], it.sha.clone()),
        (&["CI_BUILD_BEFORE_SHA", "CI_COMMIT_BEFORE_SHA"], it.before_sha.clone()),
        (&["CI_BUILD_REF_NAME", "CI_COMMIT_REF_NAME"], it.r#ref.clone()),
        (&["CI_BUILD_REF_SLUG", "CI_COMMIT_REF_SLUG"], slug),
        (&["CI_BUILD_NAME", "CI_JOB_NAME"], it.name.clone()),
        (&["CI_BUILD_STAGE", "CI_JOB_STAGE"], it.stage.clone()),
        (&["CI_PIPELINE_ID"], it.pipeline_id.to_string()),
        (&["CI_PROJECT_ID"], it.project_id.to_string()),
        (&["CI_PROJECT_NAME"], it.project_path.clone()),
        (&["CI_PROJECT_PATH"], path.clone()),
        (&["CI_PROJECT_NAMESPACE"], it.namespace_path.clone()),
        (&["CI_PROJECT_URL"], site.url(&format!("/{path}"))),
        (&["CI_SERVER_NAME"], "Holdfast".into()),
        (&["CI_SERVER_VERSION"], env!("CARGO_PKG_VERSION").into()),
        (&["CI_SERVER_REVISION"], "0".into()),
        (&["CI_SERVER_URL"], server),
        (&["CI_SERVER_HOST"], host),
        (&["CI_CONFIG_PATH"], crate::repository::ci_file::PATH.into()),
        (&["CI_RUNNER_ID"], runner.id.to_string()),
        (&["CI_RUNNER_DESCRIPTION"], runner.description.clone().unwrap_or_default()),
        (&["CI_RUNNER_TAGS"], runner.tags.join(", ")),
    ];
    if it.tag {
        pairs.push((&["CI_BUILD_TAG", "CI_COMMIT_TAG"], it.r#ref.clone()));
    }
    if it.triggered {
        pairs.push((&["CI_BUILD_TRIGGERED", "CI_PIPELINE_TRIGGERED"], yes()));
    }
    if it.run_when == "manual" {
        pairs.push((&["CI_BUILD_MANUAL", "CI_JOB_MANUAL"], yes()));
    }
    if let (Some(id), Some(email)) = (it.user_id, &it.user_email) {
        pairs.push((&["GITLAB_USER_ID"], id.to_string()));
        pairs.push((&["GITLAB_USER_EMAIL"], email.clone()));
    }
    pairs.into_iter().flat_map(|(names, value)| names.iter().map(move |name| public(name, value.clone()))).collect()
}

/// Fit for the name of a host.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().map(plain).take(63).collect();
    slug.trim_matches('-').to_owned()
}

/// Short, and begins with a letter.
fn environment_slug(name: &str) -> String {
    let slug = slug(name);
    let slug = if slug.starts_with(|c: char| c.is_ascii_lowercase()) { slug } else { format!("env-{slug}") };
    slug.chars().take(24).collect::<String>().trim_matches('-').to_owned()
}

/// `$NAME` and `${NAME}`; what is not known becomes nothing.
fn expand(text: &str, variables: &[Variable]) -> String {
    let value = |name: &str| variables.iter().rev().find(|it| it.key == name).map_or("", |it| it.value.as_str());
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if let Some((name, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            expanded.push_str(value(name));
            rest = after;
        } else {
            let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
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
    fn names_of_environments_are_filled_in() {
        let known = [public("A", "1".into()), public("AB", "2".into()), public("A", "3".into())];
        assert_eq!(expand("x-$A-${AB}y$AB $ ${A $NONE.", &known), "x-3-2y2 $ ${A .");
    }
}
