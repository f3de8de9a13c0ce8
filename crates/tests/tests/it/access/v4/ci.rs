//! The access table of pipelines, jobs, variables, triggers, runners, commit statuses and CI files in version 4.

use super::super::table::{
    ADMIN, CODE, DEVELOPERS, DEVELOPERS_CREATE, DEVELOPERS_PUBLIC, DEVELOPERS_PUBLIC_CREATE, Entry, MASTERS,
    MASTERS_CREATE, MASTERS_PUBLIC, PUBLIC, SIGNED_IN, entry,
};

const MASTERS_PUBLIC_CREATE: &str = "401 401 403 403 403 403 403 201 201 201";
const DEVELOPERS_DELETE: &str = "401 401 404 404 403 403 204 204 204 204";
const DEVELOPERS_PUBLIC_DELETE: &str = "401 401 403 403 403 403 204 204 204 204";
const MASTERS_DELETE: &str = "401 401 404 404 403 403 403 204 204 204";
const MASTERS_PUBLIC_DELETE: &str = "401 401 403 403 403 403 403 204 204 204";
const EVERYBODY_CREATES: &str = "201 201 201 201 201 201 201 201 201 201";
const NOWHERE: &str = "404 404 404 404 404 404 404 404 404 404";
/// The statuses for something that is not in the project, of readers, developers and masters.
const NONE_TO_READ: &str = "404 401 404 404 403 404 404 404 404 404";
const NONE_FOR_DEVELOPERS: &str = "401 401 404 404 403 403 404 404 404 404";
const NONE_FOR_MASTERS: &str = "401 401 404 404 403 403 403 404 404 404";

/// The triggers of the private, the internal and the public project have the ids 1, 2 and 3.
#[rustfmt::skip]
pub const CI_V4: &[Entry] = &[
    entry("GET /api/v4/projects/:id/pipelines", "/api/v4/projects/{private_project}/pipelines", &[], CODE),
    entry("GET /api/v4/projects/:id/pipelines", "/api/v4/projects/{public_project}/pipelines", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/pipelines", "/api/v4/projects/{public_project}/pipelines?ref=built&status=success&sort=asc", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/pipelines/latest", "/api/v4/projects/{private_project}/pipelines/latest?ref=built", &[], CODE),
    entry("GET /api/v4/projects/:id/pipelines/latest", "/api/v4/projects/{public_project}/pipelines/latest?ref=built", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id", "/api/v4/projects/{private_project}/pipelines/{private_pipeline}", &[], CODE),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id", "/api/v4/projects/{public_project}/pipelines/{public_pipeline}", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id/jobs", "/api/v4/projects/{private_project}/pipelines/{private_pipeline}/jobs", &[], CODE),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id/jobs", "/api/v4/projects/{public_project}/pipelines/{public_pipeline}/jobs", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id/variables", "/api/v4/projects/{private_project}/pipelines/{private_pipeline}/variables", &[], DEVELOPERS),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id/variables", "/api/v4/projects/{public_project}/pipelines/{public_pipeline}/variables", &[], DEVELOPERS_PUBLIC),
    entry("POST /api/v4/projects/:id/pipeline", "/api/v4/projects/{private_project}/pipeline", &[("ref", "built")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/pipeline", "/api/v4/projects/{public_project}/pipeline", &[("ref", "built")], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/pipelines/:pipeline_id/retry", "/api/v4/projects/{private_project}/pipelines/{private_pipeline}/retry", &[], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/pipelines/:pipeline_id/retry", "/api/v4/projects/{public_project}/pipelines/{public_pipeline}/retry", &[], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/pipelines/:pipeline_id/cancel", "/api/v4/projects/{private_project}/pipelines/{private_pipeline}/cancel", &[], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/pipelines/:pipeline_id/cancel", "/api/v4/projects/{public_project}/pipelines/{public_pipeline}/cancel", &[], DEVELOPERS_PUBLIC_CREATE),

    entry("GET /api/v4/projects/:id/jobs", "/api/v4/projects/{private_project}/jobs", &[], CODE),
    entry("GET /api/v4/projects/:id/jobs", "/api/v4/projects/{public_project}/jobs", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/jobs", "/api/v4/projects/{private_project}/jobs?pagination=keyset&order_by=id&sort=desc&per_page=1", &[], CODE),
    entry("GET /api/v4/projects/:id/jobs/:job_id", "/api/v4/projects/{private_project}/jobs/{private_build}", &[], CODE),
    entry("GET /api/v4/projects/:id/jobs/:job_id", "/api/v4/projects/{public_project}/jobs/{public_build}", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/jobs/:job_id/trace", "/api/v4/projects/{private_project}/jobs/{private_build}/trace", &[], CODE),
    entry("GET /api/v4/projects/:id/jobs/:job_id/trace", "/api/v4/projects/{public_project}/jobs/{public_build}/trace", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/jobs/:job_id/artifacts", "/api/v4/projects/{private_project}/jobs/{private_build}/artifacts", &[], CODE),
    entry("GET /api/v4/projects/:id/jobs/:job_id/artifacts", "/api/v4/projects/{public_project}/jobs/{public_build}/artifacts", &[], PUBLIC),
    entry("GET /api/v4/projects/:id/jobs/:job_id/artifacts/:artifact_path*", "/api/v4/projects/{private_project}/jobs/{private_build}/artifacts/a.txt", &[], CODE),
    entry("GET /api/v4/projects/:id/jobs/:job_id/artifacts/:artifact_path*", "/api/v4/projects/{public_project}/jobs/{public_build}/artifacts/a.txt", &[], PUBLIC),
    entry("DELETE /api/v4/projects/:id/jobs/:job_id/artifacts", "/api/v4/projects/{private_project}/jobs/{private_build}/artifacts", &[], DEVELOPERS_DELETE),
    entry("DELETE /api/v4/projects/:id/jobs/:job_id/artifacts", "/api/v4/projects/{public_project}/jobs/{public_build}/artifacts", &[], DEVELOPERS_PUBLIC_DELETE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/cancel", "/api/v4/projects/{private_project}/jobs/{private_build}/cancel", &[], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/cancel", "/api/v4/projects/{public_project}/jobs/{public_build}/cancel", &[], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/retry", "/api/v4/projects/{private_project}/jobs/{private_build}/retry", &[], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/retry", "/api/v4/projects/{public_project}/jobs/{public_build}/retry", &[], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/erase", "/api/v4/projects/{private_project}/jobs/{private_build}/erase", &[], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/erase", "/api/v4/projects/{public_project}/jobs/{public_build}/erase", &[], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/play", "/api/v4/projects/{private_project}/jobs/{private_manual}/play", &[], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/play", "/api/v4/projects/{public_project}/jobs/{public_manual}/play", &[], DEVELOPERS_PUBLIC_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/artifacts/keep", "/api/v4/projects/{private_project}/jobs/{private_build}/artifacts/keep", &[], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/jobs/:job_id/artifacts/keep", "/api/v4/projects/{public_project}/jobs/{public_build}/artifacts/keep", &[], DEVELOPERS_PUBLIC_CREATE),

    entry("GET /api/v4/projects/:id/repository/commits/:sha/statuses", "/api/v4/projects/{private_project}/repository/commits/built/statuses", &[], CODE),
    entry("GET /api/v4/projects/:id/repository/commits/:sha/statuses", "/api/v4/projects/{public_project}/repository/commits/built/statuses", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/statuses/:sha", "/api/v4/projects/{private_project}/statuses/built", &[("state", "success")], DEVELOPERS_CREATE),
    entry("POST /api/v4/projects/:id/statuses/:sha", "/api/v4/projects/{public_project}/statuses/built", &[("state", "success")], DEVELOPERS_PUBLIC_CREATE),

    entry("GET /api/v4/projects/:id/variables", "/api/v4/projects/{private_project}/variables", &[], MASTERS),
    entry("GET /api/v4/projects/:id/variables", "/api/v4/projects/{public_project}/variables", &[], MASTERS_PUBLIC),
    entry("GET /api/v4/projects/:id/variables/:key", "/api/v4/projects/{private_project}/variables/SECRET", &[], MASTERS),
    entry("GET /api/v4/projects/:id/variables/:key", "/api/v4/projects/{public_project}/variables/SECRET", &[], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/variables", "/api/v4/projects/{private_project}/variables", &[("key", "NEW"), ("value", "v")], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/variables", "/api/v4/projects/{public_project}/variables", &[("key", "NEW"), ("value", "v")], MASTERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/variables/:key", "/api/v4/projects/{private_project}/variables/SECRET", &[("value", "w")], MASTERS),
    entry("PUT /api/v4/projects/:id/variables/:key", "/api/v4/projects/{public_project}/variables/SECRET", &[("value", "w")], MASTERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/variables/:key", "/api/v4/projects/{private_project}/variables/SECRET", &[], MASTERS_DELETE),
    entry("DELETE /api/v4/projects/:id/variables/:key", "/api/v4/projects/{public_project}/variables/SECRET", &[], MASTERS_PUBLIC_DELETE),

    entry("GET /api/v4/projects/:id/triggers", "/api/v4/projects/{private_project}/triggers", &[], MASTERS),
    entry("GET /api/v4/projects/:id/triggers", "/api/v4/projects/{public_project}/triggers", &[], MASTERS_PUBLIC),
    entry("GET /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{private_project}/triggers/1", &[], MASTERS),
    entry("GET /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{public_project}/triggers/3", &[], MASTERS_PUBLIC),
    entry("POST /api/v4/projects/:id/triggers", "/api/v4/projects/{private_project}/triggers", &[("description", "d")], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/triggers", "/api/v4/projects/{public_project}/triggers", &[("description", "d")], MASTERS_PUBLIC_CREATE),
    entry("PUT /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{private_project}/triggers/1", &[("description", "d")], MASTERS),
    entry("PUT /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{public_project}/triggers/3", &[("description", "d")], MASTERS_PUBLIC),
    entry("DELETE /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{private_project}/triggers/1", &[], MASTERS_DELETE),
    entry("DELETE /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{public_project}/triggers/3", &[], MASTERS_PUBLIC_DELETE),

    entry("GET /api/v4/runners", "/api/v4/runners", &[], SIGNED_IN),
    entry("GET /api/v4/runners", "/api/v4/runners?type=project_type&status=never_contacted&paused=false&tag_list=a,b", &[], SIGNED_IN),
    entry("GET /api/v4/runners/all", "/api/v4/runners/all", &[], ADMIN),
    entry("GET /api/v4/projects/:id/runners", "/api/v4/projects/{private_project}/runners", &[], MASTERS),
    entry("GET /api/v4/projects/:id/runners", "/api/v4/projects/{public_project}/runners", &[], MASTERS_PUBLIC),

    entry("GET /api/v4/projects/:id/ci/lint", "/api/v4/projects/{private_project}/ci/lint?content_ref=built", &[], CODE),
    entry("GET /api/v4/projects/:id/ci/lint", "/api/v4/projects/{public_project}/ci/lint", &[], PUBLIC),
    entry("POST /api/v4/projects/:id/ci/lint", "/api/v4/projects/{private_project}/ci/lint", &[("content", "a: {script: b}")], CODE),
    entry("POST /api/v4/projects/:id/ci/lint", "/api/v4/projects/{public_project}/ci/lint", &[("content", "a: {script: b}")], PUBLIC),
];

/// Requests whose status depends on more than the declared policy: the owner of a runner, a token in the request, or an
/// object of another project.
#[rustfmt::skip]
pub const CI_V4_NARROWER: &[Entry] = &[
    // Only a running build has a job, and it authenticates with its job token.
    entry("GET /api/v4/job", "/api/v4/job", &[], "401 401 404 404 404 404 404 404 404 404"),
    entry("GET /api/v4/runners/:id", "/api/v4/runners/{private_runner}", &[], MASTERS),
    entry("GET /api/v4/runners/:id", "/api/v4/runners/{public_runner}", &[], MASTERS_PUBLIC),
    entry("PUT /api/v4/runners/:id", "/api/v4/runners/{private_runner}", &[("paused", "true")], MASTERS),
    entry("DELETE /api/v4/runners/:id", "/api/v4/runners/{private_runner}", &[], MASTERS_DELETE),
    entry("POST /api/v4/user/runners", "/api/v4/user/runners", &[("runner_type", "project_type"), ("project_id", "{private_project}")], MASTERS_CREATE),
    entry("POST /api/v4/user/runners", "/api/v4/user/runners", &[("runner_type", "project_type"), ("project_id", "{public_project}")], MASTERS_PUBLIC_CREATE),
    entry("POST /api/v4/user/runners", "/api/v4/user/runners", &[("runner_type", "instance_type")], "401 401 403 403 403 403 403 403 403 201"),
    entry("POST /api/v4/projects/:id/runners", "/api/v4/projects/{private_project}/runners", &[("runner_id", "{public_runner}")], MASTERS_CREATE),
    entry("POST /api/v4/projects/:id/runners", "/api/v4/projects/{private_project}/runners", &[("runner_id", "{private_runner}")], "401 401 404 404 403 403 403 409 409 409"),
    entry("DELETE /api/v4/projects/:id/runners/:runner_id", "/api/v4/projects/{private_project}/runners/{private_runner}", &[], "401 401 404 404 403 403 403 403 403 403"),
    entry("DELETE /api/v4/projects/:id/runners/:runner_id", "/api/v4/projects/{private_project}/runners/{public_runner}", &[], NONE_FOR_MASTERS),
    entry("GET /api/v4/projects/:id/jobs/artifacts/:ref_name/download", "/api/v4/projects/{private_project}/jobs/artifacts/built/download?job=done", &[], NONE_TO_READ),
    entry("GET /api/v4/projects/:id/jobs/artifacts/:ref_name/raw/:artifact_path*", "/api/v4/projects/{private_project}/jobs/artifacts/built/raw/a.txt?job=done", &[], NONE_TO_READ),
    entry("GET /api/v4/projects/:id/jobs/:job_id/artifacts/:artifact_path*", "/api/v4/projects/{private_project}/jobs/{private_build}/artifacts/b.txt", &[], NONE_TO_READ),
    entry("GET /api/v4/projects/:id/jobs/:job_id/artifacts/:artifact_path*", "/api/v4/projects/{private_project}/jobs/{public_build}/artifacts/a.txt", &[], NONE_TO_READ),
    entry("POST /api/v4/projects/:id/trigger/pipeline", "/api/v4/projects/{private_project}/trigger/pipeline", &[("ref", "built"), ("token", "wrong")], NOWHERE),
    entry("POST /api/v4/projects/:id/trigger/pipeline", "/api/v4/projects/{private_project}/trigger/pipeline", &[("ref", "built"), ("token", "trigger{private_project}")], EVERYBODY_CREATES),
    entry("POST /api/v4/projects/:id/trigger/pipeline", "/api/v4/projects/{public_project}/trigger/pipeline", &[("ref", "built"), ("token", "trigger{private_project}")], NOWHERE),
    entry("POST /api/v4/projects/:id/ref/:ref/trigger/pipeline", "/api/v4/projects/{private_project}/ref/built/trigger/pipeline", &[("token", "trigger{private_project}")], EVERYBODY_CREATES),
    entry("GET /api/v4/projects/:id/pipelines", "/api/v4/projects/{private_project}/pipelines?status=failed", &[], "404 401 404 404 403 400 400 400 400 400"),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id", "/api/v4/projects/{private_project}/pipelines/{public_pipeline}", &[], NONE_TO_READ),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id/jobs", "/api/v4/projects/{private_project}/pipelines/{public_pipeline}/jobs", &[], NONE_TO_READ),
    entry("GET /api/v4/projects/:id/pipelines/:pipeline_id/variables", "/api/v4/projects/{private_project}/pipelines/{public_pipeline}/variables", &[], NONE_FOR_DEVELOPERS),
    entry("POST /api/v4/projects/:id/pipelines/:pipeline_id/retry", "/api/v4/projects/{private_project}/pipelines/{public_pipeline}/retry", &[], NONE_FOR_DEVELOPERS),
    entry("POST /api/v4/projects/:id/pipelines/:pipeline_id/cancel", "/api/v4/projects/{private_project}/pipelines/{public_pipeline}/cancel", &[], NONE_FOR_DEVELOPERS),
    entry("GET /api/v4/projects/:id/jobs/:job_id", "/api/v4/projects/{private_project}/jobs/{public_build}", &[], NONE_TO_READ),
    entry("GET /api/v4/projects/:id/jobs/:job_id/trace", "/api/v4/projects/{private_project}/jobs/{public_build}/trace", &[], NONE_TO_READ),
    entry("GET /api/v4/projects/:id/jobs/:job_id/artifacts", "/api/v4/projects/{private_project}/jobs/{public_build}/artifacts", &[], NONE_TO_READ),
    entry("DELETE /api/v4/projects/:id/jobs/:job_id/artifacts", "/api/v4/projects/{private_project}/jobs/{public_build}/artifacts", &[], NONE_FOR_DEVELOPERS),
    entry("POST /api/v4/projects/:id/jobs/:job_id/cancel", "/api/v4/projects/{private_project}/jobs/{public_build}/cancel", &[], NONE_FOR_DEVELOPERS),
    entry("POST /api/v4/projects/:id/jobs/:job_id/retry", "/api/v4/projects/{private_project}/jobs/{public_build}/retry", &[], NONE_FOR_DEVELOPERS),
    entry("POST /api/v4/projects/:id/jobs/:job_id/erase", "/api/v4/projects/{private_project}/jobs/{public_build}/erase", &[], NONE_FOR_DEVELOPERS),
    entry("POST /api/v4/projects/:id/jobs/:job_id/play", "/api/v4/projects/{private_project}/jobs/{public_build}/play", &[], NONE_FOR_DEVELOPERS),
    entry("POST /api/v4/projects/:id/jobs/:job_id/artifacts/keep", "/api/v4/projects/{private_project}/jobs/{public_build}/artifacts/keep", &[], NONE_FOR_DEVELOPERS),
    entry("GET /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{private_project}/triggers/3", &[], NONE_FOR_MASTERS),
    entry("PUT /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{private_project}/triggers/3", &[("description", "d")], NONE_FOR_MASTERS),
    entry("DELETE /api/v4/projects/:id/triggers/:trigger_id", "/api/v4/projects/{private_project}/triggers/3", &[], NONE_FOR_MASTERS),
];
