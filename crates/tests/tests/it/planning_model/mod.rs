//! Runs a few hundred random actions of several users, and regularly compares the responses for every user with a
//! simple model. `PLANNING_SEED` repeats a run, which prints its seed.

mod actions;
mod lists_and_labels;
mod model;
mod views;

use std::collections::BTreeMap;
use std::time::Instant;

use holdfast_app::accounts::user::UserChanges;
use holdfast_tests::{START_TIME, SeededRng, Server, user_attributes};

use crate::issue_counters::assert_consistent;
use crate::planning_races::seed;
use crate::projects::add_member;
use actions::Driver;
use model::{Event, Model, Project, Role, Subject, User};

const ACTIONS: usize = 200;
/// Number of actions between two comparisons.
const COMPARE_INTERVAL: usize = 30;

#[tokio::test]
async fn responses_match_the_model_for_every_user() {
    let (seed, began) = (seed(), Instant::now());
    println!("PLANNING_SEED={seed}");
    let (mut play, leavers) = set_up(SeededRng::new(seed, 0)).await;
    let mut compared = 0;
    for number in 0..ACTIONS {
        play.run_action().await;
        if number == ACTIONS / 2 {
            play.delete_user(leavers[0]).await;
        }
        if number == ACTIONS * 3 / 4 {
            play.delete_user(leavers[1]).await;
        }
        if number % COMPARE_INTERVAL == COMPARE_INTERVAL - 1 {
            let before = play.requests;
            play.compare_all().await;
            compared += play.requests - before;
        }
    }
    let mut database = play.server.database().await;
    assert_consistent(&mut database).await;
    for (id, project) in &play.model.projects {
        let last: i64 = sqlx::query_scalar("select last_issue_iid from projects where id = $1")
            .bind(id)
            .fetch_one(&mut database)
            .await
            .unwrap();
        assert_eq!(last, project.last_iid);
    }
    let kept: i64 = sqlx::query_scalar("select count(*) from issues").fetch_one(&mut database).await.unwrap();
    assert_eq!(kept, play.model.issues.len() as i64);
    println!("{ACTIONS} actions, {compared} answers compared, {} granted, {:.1?}", play.accepted, began.elapsed());
    assert!(compared > 1000, "only {compared}");
}

/// Creates all users and projects, and returns the users who will be deleted.
async fn set_up(rng: SeededRng) -> (Driver, [i64; 2]) {
    let server = Server::start().await;
    let mut model = Model::default();
    model.users.insert(1, User { role: Role::Administrator, is_blocked: false });
    let mut clients = BTreeMap::from([(1, server.admin.clone())]);
    let mut ids = Vec::new();
    for name in ["olga", "mike", "dora", "rita", "gus", "sam", "eve", "shy", "bud", "lea", "lew"] {
        let is_external = name == "eve";
        let (id, client) = server.user_with(UserChanges { external: Some(is_external), ..user_attributes(name) }).await;
        let role = if is_external { Role::External } else { Role::Ordinary };
        model.users.insert(id.get(), User { role, is_blocked: false });
        clients.insert(id.get(), client);
        ids.push(id.get());
    }
    let [olga, mike, dora, rita, gus, sam, eve, shy, bud, lea, lew] = ids[..] else { panic!("eleven users") };
    let owner = clients[&olga].clone();
    let mut groups = Vec::new();
    for (path, visibility) in [("team", 20), ("other", 0), ("friends", 0)] {
        let group = server.group(&owner, path, visibility).await;
        model.groups.insert(group, visibility);
        model.group_members.push((group, olga, 50));
        groups.push(group);
    }
    let [team, other, friends] = groups[..] else { panic!("three groups") };
    for (group, user, level) in
        [(team, mike, 40), (team, dora, 30), (team, bud, 30), (other, mike, 20), (friends, shy, 30)]
    {
        add_member(&owner, &format!("/groups/{group}"), user, level).await;
        model.group_members.push((group, user, level));
    }
    let mut projects = Vec::new();
    for (path, visibility, group, creator) in [
        ("open", 20, Some(team), olga),
        ("internal", 10, Some(team), olga),
        ("closed", 0, Some(team), olga),
        ("changing", 20, Some(team), olga),
        ("hidden", 0, Some(other), olga),
        ("own", 10, None, olga),
        ("going", 20, None, lew),
    ] {
        let project = server.project_in(&clients[&creator], path, visibility, group).await;
        let owner = if group.is_none() { Some(creator) } else { None };
        let (issues_enabled, merge_requests_enabled) = (true, true);
        model
            .projects
            .insert(project, Project { group, owner, visibility, issues_enabled, merge_requests_enabled, last_iid: 0 });
        model.events.push(Event { project, author: creator, action: "created", subject: Subject::Project });
        projects.push((project, creator));
    }
    let [(open, _), (internal, _), (closed, _), changing, (hidden, _), (own, _), (going, _)] = projects[..] else {
        panic!("seven projects")
    };
    for (project, user, level) in [
        (internal, rita, 20),
        (closed, rita, 20),
        (hidden, rita, 20),
        (closed, gus, 10),
        (hidden, gus, 10),
        (own, dora, 10),
        (own, rita, 30),
        (going, rita, 20),
        (open, lea, 20),
        (closed, lea, 30),
        (closed, lew, 10),
    ] {
        add_member(&server.admin, &format!("/projects/{project}"), user, level).await;
        model.project_members.push((project, user, level));
        model.events.push(Event { project, author: user, action: "joined", subject: Subject::Project });
    }
    for (project, group, level) in [(closed, friends, 10), (hidden, team, 20)] {
        let form = [("group_id", &*group.to_string()), ("group_access", &*level.to_string())];
        let shared = owner.post(&format!("/projects/{project}/share"), &form).await;
        assert_eq!(shared.status, 201, "{}", shared.text);
        model.shares.push((project, group, level));
    }
    let everybody = model.users.keys().map(|id| Some(*id)).chain([None]).collect();
    let mut play = Driver {
        server,
        model,
        clients,
        rng,
        now: START_TIME.parse().unwrap(),
        staff: vec![1, olga, mike, dora, rita, lea],
        guests: vec![gus, sam, eve, shy],
        everybody,
        changing_project: changing,
        blockable_user: bud,
        requests: 0,
        accepted: 0,
    };
    for project in [open, internal, closed, changing.0, hidden, own, going, open, closed] {
        play.create_milestone(Some(1), project).await;
    }
    (play, [lea, lew])
}
