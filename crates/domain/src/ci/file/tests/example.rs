use super::super::{ArtifactsWhen, EnvironmentAction, When};
use super::{PipelineTarget, branch, file};

const EXAMPLE: &str = r#"
# What a team of some size writes.
image: "ruby:2.3"

services:
  - postgres:9.5
  - redis:alpine

cache: &cache
  key: "$CI_BUILD_REF_NAME"
  paths: [vendor/ruby, node_modules/]

variables:
  RAILS_ENV: test
  POSTGRES_DB: app
  SIMPLECOV: "true"
  URL: http://localhost:3000

before_script:
  - bundle install --jobs "$(nproc)" --path vendor/ruby
  - |
    if [ -f .env ]; then
      source .env
    fi

after_script:
  - date

stages:
  - prepare
  - test
  - package
  - review
  - deploy

.ruby: &ruby
  stage: test
  tags: [ruby, docker]
  except:
    - /^docs\/.*$/

.artifacts: &artifacts
  artifacts:
    name: "$CI_BUILD_NAME"
    paths:
      - coverage/
      - log/*.log
    when: on_failure
    expire_in: 3 weeks and 2 days

.deploy: &deploy
  stage: deploy
  before_script: []
  image: alpine
  services: []
  cache: {}
  tags:
    - shell

setup:
  stage: prepare
  script: bundle exec rake db:setup
  artifacts:
    paths: [tmp/seed.sql]
    expire_in: 1h30m

rspec 0 2: &rspec
  <<: [*ruby, *artifacts]
  script:
    - bundle exec knapsack
    - 'echo "done: $?"'
  variables: {KNAPSACK: "0", RAILS_ENV: ci}
  coverage: '/\(\d+.\d+\%\) covered/'
  dependencies: [setup]

rspec 1 2:
  <<: *rspec
  variables: {KNAPSACK: "1"}

rubocop:
  <<: *ruby
  script: [bundle exec rubocop]
  allow_failure: yes
  dependencies: []

package:
  stage: package
  script: make
  only: [master, tags, /^\d+-\d+-stable$/]
  cache:
    <<: *cache
    untracked: true

review:
  <<: *deploy
  stage: review
  script: [deploy "$CI_BUILD_REF_SLUG"]
  environment:
    name: review/$CI_BUILD_REF_NAME
    url: https://$CI_BUILD_REF_SLUG.example.com
    on_stop: stop_review
  only: [branches@team/app]
  except: [master]

stop_review:
  <<: *deploy
  stage: review
  script: [destroy]
  when: manual
  environment: {name: review/$CI_BUILD_REF_NAME, action: stop}
  only: [branches@team/app]
  except: [master]

production:
  <<: *deploy
  script:
    - deploy production
  when: manual
  environment: production
  only: [tags]

nightly:
  <<: *deploy
  script: deploy nightly
  only: [triggers]

report:
  stage: deploy
  script: [notify]
  when: on_failure
"#;

fn names(target: &PipelineTarget<'_>) -> Vec<String> {
    file(EXAMPLE).into_jobs_for(target).into_iter().map(|job| job.name).collect()
}

#[test]
fn example_jobs_run_for_matching_refs() {
    let at_home = |ref_name| PipelineTarget { project_path: "team/app", ..branch(ref_name) };
    let tests = ["setup", "rspec 0 2", "rspec 1 2", "rubocop"];
    let with = |more: &[&str]| [&tests[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names(&at_home("master")), with(&["package", "report"]));
    assert_eq!(names(&at_home("8-14-stable")), with(&["package", "review", "stop_review", "report"]));
    assert_eq!(names(&at_home("docs/typo")), ["setup", "review", "stop_review", "report"]);
    assert_eq!(names(&branch("feature")), with(&["report"]), "of a fork");
    let tag = PipelineTarget { is_tag: true, ..at_home("v1.0") };
    assert_eq!(names(&tag), with(&["package", "production", "report"]));
    let triggered = PipelineTarget { is_triggered: true, ..at_home("master") };
    assert_eq!(names(&triggered), with(&["package", "nightly", "report"]));
}

#[test]
fn example_jobs_have_the_expected_attributes() {
    let file = file(EXAMPLE);
    assert_eq!(file.stages, ["prepare", "test", "package", "review", "deploy"]);
    assert_eq!(file.jobs.len(), 10);
    let job = |name: &str| file.jobs.iter().find(|job| job.name == name).unwrap();

    let rspec = job("rspec 1 2");
    assert_eq!((rspec.stage_index, rspec.image.as_deref()), (1, Some("ruby:2.3")));
    assert_eq!(rspec.script.len(), 4);
    assert_eq!(rspec.script[1], "if [ -f .env ]; then\n  source .env\nfi\n");
    assert_eq!(rspec.script[3], "echo \"done: $?\"");
    assert_eq!(rspec.after_script, ["date"]);
    assert_eq!((rspec.services.len(), &rspec.tags[..]), (2, &["ruby".to_owned(), "docker".to_owned()][..]));
    let variables: Vec<String> = rspec.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let expected = ["RAILS_ENV=test", "POSTGRES_DB=app", "SIMPLECOV=true", "URL=http://localhost:3000", "KNAPSACK=1"];
    assert_eq!(variables, expected);
    assert_eq!(job("rspec 0 2").variables[0].1, "ci");
    assert_eq!(rspec.coverage.as_deref(), Some(r"\(\d+.\d+\%\) covered"));
    assert_eq!(rspec.dependencies.as_deref(), Some(&["setup".to_owned()][..]));
    let artifacts = rspec.artifacts.as_ref().unwrap();
    assert_eq!((artifacts.when, artifacts.paths.len()), (ArtifactsWhen::OnFailure, 2));
    assert_eq!(artifacts.expire_in.as_deref(), Some("3 weeks and 2 days"));

    let rubocop = job("rubocop");
    assert_eq!((rubocop.allow_failure, rubocop.dependencies.as_deref()), (true, Some(&[][..])));

    let cache = job("package").cache.as_ref().unwrap();
    assert_eq!((cache.key.as_deref(), cache.untracked, cache.paths.len()), (Some("$CI_BUILD_REF_NAME"), true, 2));
    assert_eq!(job("package").dependencies, None);

    let stop = job("stop_review");
    assert_eq!((stop.script.len(), stop.when, stop.image.as_deref()), (1, When::Manual, Some("alpine")));
    assert!(stop.services.is_empty() && stop.cache.as_ref().unwrap().paths.is_empty());
    assert_eq!(stop.environment.as_ref().unwrap().action, EnvironmentAction::Stop);
    let review = job("review").environment.as_ref().unwrap();
    assert_eq!(review.on_stop.as_deref(), Some("stop_review"));
    assert_eq!(review.url.as_deref(), Some("https://$CI_BUILD_REF_SLUG.example.com"));
    assert_eq!(job("production").environment.as_ref().unwrap().name, "production");
}
