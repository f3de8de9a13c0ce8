//! Pipelines, builds and runners for the access table.

use holdfast_tests::{Server, WorkTree};
use serde_json::json;

pub const PRIVATE_IDS: [&str; 4] = ["{private_pipeline}", "{private_build}", "{private_manual}", "{private_runner}"];
pub const PUBLIC_IDS: [&str; 4] = ["{public_pipeline}", "{public_build}", "{public_manual}", "{public_runner}"];

const FILE: &[u8] = b"done:\n  script: make\nplayed:\n  script: make\n  when: manual\n";

/// A zip archive with the file `a.txt`, which is not compressed.
const ARTIFACTS: &[u8] = b"PK\x03\x04\x14\0\0\0\0\0\0\0!\0\xc7\xa7\x8b;\x04\0\0\0\x04\0\0\0\x05\0\0\0a.txttext\
    PK\x01\x02\x14\x03\x14\0\0\0\0\0\0\0!\0\xc7\xa7\x8b;\x04\0\0\0\x04\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\x80\x01\0\0\0\0a.txt\
    PK\x05\x06\0\0\0\0\x01\0\x01\x003\0\0\0'\0\0\0\0\0";

/// Creates a pipeline with a finished build that has artifacts and a manual one, and a runner.
pub async fn create_builds(server: &Server, database: &mut sqlx::PgConnection, path: &str, project: i64) -> [i64; 4] {
    let admin = &server.admin;
    let tree = WorkTree::new().await;
    tree.commit(".gitlab-ci.yml", FILE, "Build").await;
    tree.push(&server.git_url(admin, path), &["main:built"]).await.ok();
    let made = admin.post(&format!("/projects/{project}/pipeline"), &[("ref", "built")]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let pipeline = made.body["id"].as_i64().unwrap();
    let id = async |database: &mut sqlx::PgConnection, name: &str| -> i64 {
        let query = sqlx::query_scalar("select id from builds where pipeline_id = $1 and name = $2");
        query.bind(pipeline).bind(name).fetch_one(database).await.unwrap()
    };
    let (done, played) = (id(database, "done").await, id(database, "played").await);
    let key = format!("artifacts/{done}");
    server.app.objects.put(&key, ARTIFACTS.into()).await.unwrap();
    for statement in statements(done, pipeline, project, &key) {
        sqlx::QueryBuilder::<sqlx::Postgres>::new(statement).build().execute(&mut *database).await.unwrap();
    }
    let variable = [("key", "SECRET"), ("value", "v")];
    assert_eq!(admin.post(&format!("/projects/{project}/variables"), &variable).await.status, 201);
    let token = admin.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
    let client = reqwest::Client::new();
    let request = client.post(format!("{}/api/v4/runners", server.base_url)).json(&json!({ "token": token }));
    let runner: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
    [pipeline, done, played, runner["id"].as_i64().unwrap()]
}

/// Returns the statements that complete a build. It fails, so that every action is allowed on it.
fn statements(done: i64, pipeline: i64, project: i64, key: &str) -> Vec<String> {
    vec![
        format!("delete from build_queue where build_id = {done}"),
        format!("update builds set status = 'failed', finished_at = now() where id = {done}"),
        format!("update pipelines set status = 'failed' where id = {pipeline}"),
        format!("insert into traces (build_id, bytes, crc32, unsealed, updated_at) values ({done}, 4, 0, 4, now())"),
        format!("insert into trace_pieces (build_id, start, bytes, content) values ({done}, 0, 4, 'said')"),
        format!(
            "insert into build_objects (object_key, build_id, created_at, stored_at) values ('{key}', {done}, now(), now())"
        ),
        format!(
            "insert into artifacts (build_id, file_name, object_key, bytes) values ({done}, 'a.zip', '{key}', {})",
            ARTIFACTS.len()
        ),
        format!(
            "insert into triggers (project_id, owner_id, token, token_digest, token_start, created_at, updated_at)
             values ({project}, 1, 'digest{project}', sha256('trigger{project}'), 'trig', now(), now())"
        ),
    ]
}
