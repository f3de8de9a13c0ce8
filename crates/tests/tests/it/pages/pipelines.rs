//! Actions on pipelines and builds, why builds are pending, and the streams that keep their pages up to date.

use std::time::Duration;

use holdfast_tests::Browser;
use reqwest::multipart::{Form, Part};
use serde_json::json;
use tokio::time::timeout;

use crate::pipelines::{CiFixture, Job, Runner, pairs};
use crate::projects::add_member;

const TWO_STAGES: &str = "stages: [build, ship]\n\
    compile: {stage: build, script: make}\n\
    deploy: {stage: ship, script: ship, when: manual}\n";

async fn id(fixture: &CiFixture, name: &str) -> i64 {
    fixture.build(name).await["id"].as_i64().unwrap()
}

async fn pipeline_page(fixture: &CiFixture) -> String {
    format!("/ada/p/pipelines/{}", fixture.pipeline().await["id"])
}

/// Submits the form of a page that leads to this action, and returns where the action leads.
async fn act(browser: &Browser, page: &str, action: &str) -> String {
    let form = browser.get(page).await.form(&format!("form[action='{action}']"));
    let response = browser.submit(&form).await;
    assert_eq!(response.status, 303, "{action}: {}", response.text);
    response.location().unwrap().to_owned()
}

#[tokio::test]
async fn a_pipeline_is_run_on_a_branch() {
    let fixture = CiFixture::with_file(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    let list = ada.get("/ada/p/pipelines").await;
    assert_eq!(list.texts("td .vh"), ["build: pending,", "ship: created"], "{}", list.text);
    let form = list.form("form[action='/ada/p/pipelines']");
    assert_eq!(form.value("ref"), "main");
    let created = ada.submit(&form).await;
    assert_eq!(created.status, 303, "{}", created.text);
    assert_eq!(fixture.pipelines().await.len(), 2);
    assert_eq!(created.location(), Some(pipeline_page(&fixture).await.as_str()));
    let page = ada.open(created.location().unwrap()).await;
    assert_eq!(page.texts(".flash p"), ["The pipeline was created."]);
    let rejected = ada.submit(&form.set("ref", "no<where>")).await;
    assert_eq!(rejected.status, 422);
    assert_eq!(rejected.texts("#ref-error p"), ["The pipeline was not created.", "Reference not found"]);
    assert_eq!(rejected.form("form[action='/ada/p/pipelines']").value("ref"), "no<where>");
    assert_eq!(fixture.pipelines().await.len(), 2);
}

#[tokio::test]
async fn pipelines_are_canceled_and_retried() {
    let fixture = CiFixture::with_file(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    let page = pipeline_page(&fixture).await;
    assert_eq!(act(&ada, &page, &format!("{page}/cancel")).await, page);
    assert_eq!(fixture.statuses().await, pairs(&[("compile", "canceled"), ("deploy", "canceled")]));
    let shown = ada.get(&page).await;
    assert!(shown.forms().iter().all(|form| !form.action.ends_with("/cancel")), "{}", shown.text);
    assert_eq!(shown.texts("form[action$='/retry'] button"), ["Retry"]);
    act(&ada, &page, &format!("{page}/retry")).await;
    let statuses = fixture.statuses().await;
    assert_eq!(statuses[2..], pairs(&[("compile", "pending"), ("deploy", "created")]));
    // The page of a build lists the attempts before it alone.
    let builds = fixture.ada.get(&fixture.path("/builds")).await.body;
    let builds = builds.as_array().unwrap().iter().filter(|build| build["name"] == "compile");
    let mut ids: Vec<i64> = builds.map(|build| build["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    let address = |id: i64| format!("/ada/p/builds/{id}");
    let heading = "Earlier attempts".to_owned();
    let first = ada.get(&address(ids[0])).await;
    assert!(!first.texts("#build-rail h2").contains(&heading), "{}", first.text);
    let second = ada.get(&address(ids[1])).await;
    assert!(second.texts("#build-rail h2").contains(&heading), "{}", second.text);
    assert!(second.attributes("#build-rail li a", "href").contains(&address(ids[0])), "{}", second.text);
}

#[tokio::test]
async fn builds_are_retried_started_erased_and_kept() {
    let fixture = CiFixture::with_file(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let page = format!("/ada/p/builds/{}", job.id);
    assert_eq!(runner.patch(&job, 0, b"made\n").await.status, 202);
    let archive = zip(&[("out/a.txt", b"hello")]);
    let part = Part::bytes(archive).file_name("out.zip");
    let uploaded = runner.upload_form(&job, "?expire_in=1+day", Form::new().part("file", part)).await;
    assert_eq!(uploaded.status, 201, "{}", uploaded.body);
    // While it runs it can be canceled, and nothing else.
    let actions = |shown: &holdfast_tests::PageResponse| -> Vec<String> {
        let below = format!("{page}/");
        let forms = shown.forms().into_iter();
        forms.filter_map(|form| form.action.strip_prefix(&below).map(str::to_owned)).collect()
    };
    assert_eq!(actions(&ada.get(&page).await), ["cancel", "keep"]);
    for action in ["retry", "play", "erase"] {
        let refused = ada.post(&format!("{page}/{action}"), &[]).await;
        assert_eq!(refused.status, 422, "{action}: {}", refused.text);
    }
    runner.finish(&job, "success").await;
    assert_eq!(actions(&ada.get(&page).await), ["retry", "keep", "erase"]);
    act(&ada, &page, &format!("{page}/keep")).await;
    assert_eq!(actions(&ada.get(&page).await), ["retry", "erase"]);
    let retried = act(&ada, &page, &format!("{page}/retry")).await;
    assert_eq!(retried, format!("/ada/p/builds/{}", id(&fixture, "compile").await));
    assert_ne!(retried, page);
    // The build leads to the attempt before it, and to its commit.
    let shown = ada.get(&retried).await;
    assert_eq!(shown.texts("#build-rail section:nth-of-type(2) a"), [format!("#{}", job.id)]);
    assert!(shown.attributes("#build-rail a", "href").contains(&page), "{}", shown.text);
    let commit = shown.attributes("a.sha", "href").remove(0);
    assert!(commit.starts_with("/ada/p/commit/"), "{commit}");
    assert_eq!(ada.get(&commit).await.status, 200);
    for list in ["/ada/p/pipelines", &pipeline_page(&fixture).await] {
        assert_eq!(ada.get(list).await.attributes("a.sha", "href"), [commit.as_str()], "{list}");
    }
    assert_eq!(ada.post(&format!("{page}/retry"), &[]).await.status, 422);
    act(&ada, &page, &format!("{page}/erase")).await;
    let erased = ada.get(&page).await;
    assert!(erased.text.contains("were erased") && !erased.text.contains("made"), "{}", erased.text);
    assert_eq!(ada.post(&format!("{page}/keep"), &[]).await.status, 422);
    assert_eq!(ada.post("/ada/p/builds/0/keep", &[]).await.status, 404);
    runner.finish(&runner.claim().await, "success").await;
    let deploy = format!("/ada/p/builds/{}", id(&fixture, "deploy").await);
    act(&ada, &pipeline_page(&fixture).await, &format!("{deploy}/play")).await;
    assert_eq!(fixture.build("deploy").await["status"], "pending");
    act(&ada, &deploy, &format!("{deploy}/cancel")).await;
    assert_eq!(fixture.build("deploy").await["status"], "canceled");
}

#[tokio::test]
async fn guests_are_offered_nothing_and_change_nothing() {
    let fixture = CiFixture::with_file(TWO_STAGES).await;
    let (eve, _) = fixture.server.user("eve").await;
    add_member(&fixture.ada, &fixture.path(""), eve.get(), 20).await;
    let eve = fixture.server.sign_in("eve").await;
    let before = fixture.server.dump_database().await;
    let (pipeline, build) = (pipeline_page(&fixture).await, format!("/ada/p/builds/{}", id(&fixture, "compile").await));
    for page in ["/ada/p/pipelines", &pipeline, &build] {
        let shown = eve.get(page).await;
        assert_eq!(shown.status, 200, "{page}");
        assert!(shown.forms().iter().all(|form| !form.action.contains("/ada/p/")), "{page}: {}", shown.text);
    }
    let actions = ["retry", "cancel", "play", "erase", "keep"].map(|action| format!("{build}/{action}"));
    for action in actions.iter().map(String::as_str).chain(["/ada/p/pipelines", &format!("{pipeline}/cancel")]) {
        assert_eq!(eve.post(action, &[("ref", "main")]).await.status, 403, "{action}");
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

/// A page says why a build does not run, by the rules of the queue.
#[tokio::test]
async fn pages_say_why_a_build_is_pending() {
    let file = "stages: [a, b]\nfirst: {stage: a, script: x, tags: [arm, <b>]}\nsecond: {stage: b, script: x}\n";
    let fixture = CiFixture::with_file(file).await;
    let ada = fixture.server.sign_in("ada").await;
    let (pipeline, build) = (pipeline_page(&fixture).await, format!("/ada/p/builds/{}", id(&fixture, "first").await));
    let reason = async |page: &str| ada.get(page).await.texts(".why").join("\n");
    let assert_reason = async |expected: &str| {
        for page in [&pipeline, &build] {
            let shown = reason(page).await;
            assert!(shown.contains(expected), "{page}: {shown}");
        }
    };
    assert_reason("the project has no runner").await;
    let later = reason(&format!("/ada/p/builds/{}", id(&fixture, "second").await)).await;
    assert!(later.contains("it waits for the stage a"), "{later}");
    let token = fixture.ada.get(&fixture.path("")).await.body["runners_token"].as_str().unwrap().to_owned();
    let other = Runner::register(&fixture.server, json!({ "token": token, "tag_list": "arm" })).await;
    assert_reason("No runner of the project has: <b>.").await;
    let runner = Runner::register(&fixture.server, json!({ "token": token, "tag_list": "arm,<b>" })).await;
    assert_reason("no runner that can run it is online").await;
    let set_active = async |active: &str| {
        let path = format!("/runners/{}", runner.id);
        assert_eq!(fixture.ada.put(&path, &[("active", active)]).await.status, 200);
    };
    set_active("false").await;
    assert_reason("all runners that can run it are paused").await;
    set_active("true").await;
    // A runner that asks for work is online. This one cannot run the build, so both are asked.
    assert!(other.request().await.is_none());
    let job = runner.claim().await;
    assert_eq!(reason(&build).await, "");
    assert_eq!(ada.post(&format!("/ada/p/builds/{}/cancel", job.id), &[]).await.status, 303);
    assert_eq!(ada.post(&format!("{build}/retry"), &[]).await.status, 303);
    let shown = reason(&format!("/ada/p/builds/{}", id(&fixture, "first").await)).await;
    assert!(shown.contains("it is the next build for its runners"), "{shown}");
    assert_eq!(reason(&pipeline).await, "", "a build that merely waits needs no explanation here");
}

/// A stream of events, as a browser reads it.
struct EventStream {
    response: reqwest::Response,
    buffer: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    id: String,
    data: String,
}

impl EventStream {
    async fn open(browser: &Browser, path: &str) -> Self {
        Self::open_after(browser, path, None).await
    }

    async fn open_after(browser: &Browser, path: &str, last_id: Option<&str>) -> Self {
        let response = request(browser, path, last_id).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self { response, buffer: String::new() }
    }

    /// Returns the next event, or None if the stream has ended.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((text, rest)) = self.buffer.split_once("\n\n") {
                let event = parse_event(text);
                self.buffer = rest.to_owned();
                if !event.name.is_empty() {
                    return Some(event);
                }
                continue;
            }
            let chunk = timeout(Duration::from_secs(20), self.response.chunk()).await.expect("an event in time");
            self.buffer.push_str(std::str::from_utf8(&chunk.unwrap()?).unwrap());
        }
    }

    async fn expect(&mut self, name: &str) -> Event {
        let event = self.next().await.unwrap_or_else(|| panic!("no event {name}"));
        assert_eq!(event.name, name, "{event:?}");
        event
    }
}

async fn request(browser: &Browser, path: &str, last_id: Option<&str>) -> reqwest::Response {
    let request = browser.request("GET", path).header("accept", "text/event-stream");
    let request = last_id.into_iter().fold(request, |request, id| request.header("last-event-id", id));
    request.header("sec-fetch-site", "same-origin").send().await.unwrap()
}

fn parse_event(text: &str) -> Event {
    let mut event = Event::default();
    let mut data = Vec::new();
    for (field, value) in text.lines().filter_map(|line| line.split_once(": ")) {
        match field {
            "event" => value.clone_into(&mut event.name),
            "id" => value.clone_into(&mut event.id),
            "data" => data.push(value),
            _ => {}
        }
    }
    event.data = data.join("\n");
    event
}

async fn running(file: &str) -> (CiFixture, Runner, Job, String) {
    let fixture = CiFixture::with_file(file).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let page = format!("/ada/p/builds/{}", job.id);
    (fixture, runner, job, page)
}

#[tokio::test]
async fn the_lines_of_a_trace_arrive_while_the_build_runs() {
    let (fixture, runner, job, page) = running(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    runner.patch(&job, 0, b"one\n<two").await;
    let shown = ada.get(&page).await;
    assert_eq!(shown.texts(".trace pre"), ["one"], "a line is shown when it is complete");
    let live = shown.attributes("[data-live]", "data-live").remove(0);
    let from = shown.attributes("[data-live]", "data-from").remove(0);
    assert_eq!((live.as_str(), from.as_str()), (format!("{page}/live").as_str(), "4-2"));
    let mut stream = EventStream::open(&ada, &format!("{live}?from={from}")).await;
    let state = stream.expect("state").await;
    assert!(state.data.contains("id=\"build-head\"") && state.data.contains("running"), "{}", state.data);
    runner.patch(&job, 8, b">\nthree\n").await;
    let chunk = stream.expect("chunk").await;
    assert_eq!(chunk.id, "16-4");
    assert!(chunk.data.contains("id=\"L2\"") && chunk.data.contains("&#60;two&#62;\n"), "{}", chunk.data);
    assert!(chunk.data.contains("data-n=\"3\"") && chunk.data.contains("three"), "{}", chunk.data);
    runner.patch(&job, 16, b"end").await;
    runner.finish(&job, "success").await;
    let chunk = stream.expect("chunk").await;
    assert!(chunk.id == "19-5" && chunk.data.contains("end"), "{chunk:?}");
    let state = stream.expect("state").await;
    assert!(state.data.contains("passed") && state.data.contains("/retry"), "{}", state.data);
    stream.expect("end").await;
    assert_eq!(stream.next().await, None);
    // Another stream continues at the id of an event, also at another node.
    let node = ada.for_node(&fixture.server.another_node().await);
    let mut stream = EventStream::open_after(&node, &format!("{live}?from=0"), Some("16-4")).await;
    let chunk = stream.expect("chunk").await;
    assert!(chunk.id == "19-5" && chunk.data.contains("data-n=\"4\"") && !chunk.data.contains("three"), "{chunk:?}");
    stream.expect("state").await;
    stream.expect("end").await;
    // A browser that opens the address as a page gets the page.
    assert_eq!(ada.get(&live).await.location(), Some(page.as_str()));
}

/// An attacker who may read builds asks for a part of the trace that begins within the token that registers runners.
#[tokio::test]
async fn parts_of_a_trace_do_not_reveal_the_token_of_runners() {
    let (fixture, runner, job, page) = running(TWO_STAGES).await;
    let token = fixture.ada.get(&fixture.path("")).await.body["runners_token"].as_str().unwrap().to_owned();
    runner.patch(&job, 0, format!("a {token} b\nc\n").as_bytes()).await;
    let ada = fixture.server.sign_in("ada").await;
    assert!(!ada.get(&page).await.text.contains(&token[..8]));
    // One user may have eight streams.
    for from in [0, 2, 3, token.len() / 2, token.len(), token.len() + 1, token.len() + 2] {
        let chunk = EventStream::open(&ada, &format!("{page}/live?from={from}")).await.expect("chunk").await;
        let parts = token.as_bytes().windows(4).map(|part| std::str::from_utf8(part).unwrap());
        assert!(parts.filter(|part| chunk.data.contains(part)).count() == 0, "{from}: {}", chunk.data);
    }
}

#[tokio::test]
async fn a_stream_ends_when_the_viewer_loses_the_permission() {
    let (fixture, runner, job, page) = running(TWO_STAGES).await;
    let (eve, _) = fixture.server.user("eve").await;
    add_member(&fixture.ada, &fixture.path(""), eve.get(), 20).await;
    let browser = fixture.server.sign_in("eve").await;
    let mut stream = EventStream::open(&browser, &format!("{page}/live")).await;
    stream.expect("state").await;
    let removed = fixture.ada.delete(&fixture.path(&format!("/members/{}", eve.get()))).await;
    assert_eq!(removed.status, 200, "{}", removed.text);
    runner.patch(&job, 0, b"secret\n").await;
    assert_eq!(stream.next().await, None);
    assert_eq!(request(&browser, &format!("{page}/live"), None).await.status(), 404);
    assert_eq!(request(&fixture.server.browser(), &format!("{page}/live"), None).await.status(), 404);
}

#[tokio::test]
async fn streams_are_limited_and_end_at_shutdown() {
    let (fixture, _, _, page) = running(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    let live = format!("{page}/live");
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(EventStream::open(&ada, &live).await);
    }
    assert_eq!(request(&ada, &live, None).await.status(), 503);
    // A closed stream makes room for another one.
    drop(streams.pop());
    let mut reopened = 503;
    let mut every = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..50 {
        every.tick().await;
        let response = request(&ada, &live, None).await;
        reopened = response.status().as_u16();
        if reopened == 200 {
            streams.push(EventStream { response, buffer: String::new() });
            break;
        }
    }
    assert_eq!(reopened, 200);
    fixture.server.app.shutdown.cancel();
    for mut stream in streams {
        while stream.next().await.is_some() {}
    }
}

#[tokio::test]
async fn the_stages_of_a_pipeline_change_while_it_runs() {
    let file = "one: {script: x}\ntwo: {script: x}\n";
    let (fixture, runner, first, _) = running(file).await;
    let ada = fixture.server.sign_in("ada").await;
    let page = pipeline_page(&fixture).await;
    let shown = ada.get(&page).await;
    let live = shown.attributes("[data-live]", "data-live").remove(0);
    let mut stream = EventStream::open(&ada, &live).await;
    let part = stream.expect("part").await;
    assert!(part.data.contains("id=\"pipeline-head\"") && part.data.contains("id=\"pipeline-body\""), "{}", part.data);
    let count = |event: &Event| {
        ["running", "pending"].map(|status| event.data.matches(&format!("aria-label=\"{status}\"")).count())
    };
    assert_eq!(count(&part), [1, 1], "{}", part.data);
    // The pipeline stays as it is when another of its builds begins.
    let second = runner.claim().await;
    // A part may be sent again because a duration has changed.
    while count(&stream.expect("part").await) != [2, 0] {}
    runner.finish(&first, "success").await;
    runner.finish(&second, "failed").await;
    let mut event = stream.expect("part").await;
    while event.name == "part" {
        if count(&event) == [0, 0] {
            assert!(event.data.contains("Retry failed"), "{}", event.data);
        }
        event = stream.next().await.unwrap();
    }
    assert_eq!(event.name, "end");
    assert_eq!(ada.get(&page).await.attributes("[data-live]", "data-live").len(), 0);
}

/// A long trace is shown from its end, and only that is read.
#[tokio::test]
async fn the_end_of_a_long_trace_is_shown() {
    let (fixture, runner, job, page) = running(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    let line = format!("{}\n", "x".repeat(999));
    let mut start = 0;
    for _ in 0..3 {
        let part = line.repeat(500);
        assert_eq!(runner.patch(&job, start, part.as_bytes()).await.status, 202);
        start += i64::try_from(part.len()).unwrap();
    }
    runner.patch(&job, start, b"error: at the end\n").await;
    runner.finish(&job, "failed").await;
    fixture.server.sweep_builds().await;
    let shown = ada.get(&page).await;
    assert_eq!(shown.texts("#first-error"), ["error: at the end"]);
    assert_eq!(shown.texts(".trace a.l").len(), 525);
    assert!(shown.text.contains("are not shown"), "{}", shown.texts(".folded").join(""));
}

#[tokio::test]
async fn the_files_of_artifacts_are_listed_and_downloaded_one_by_one() {
    let (fixture, runner, job, page) = running(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    let root = format!("{page}/artifacts/browse");
    // Before there are artifacts, the pages say so.
    assert_eq!(ada.get(&root).await.texts(".empty h2"), ["No artifacts"]);
    for path in ["", "/file/out/a.txt"] {
        assert_eq!(ada.get(&format!("{page}/artifacts{path}")).await.location(), Some(root.as_str()), "{path}");
    }
    let script: &[u8] = b"<script>alert(1)</script>";
    let archive = zip(&[("out/a.txt", b"hello"), ("out/<b>.html", script), ("../evil", b"x"), ("top", b"")]);
    assert_eq!(runner.upload_artifacts(&job, "out.zip", &archive).await.status, 201);
    let listed = ada.get(&root).await;
    assert_eq!(listed.texts("tbody a"), ["out", "top"], "{}", listed.text);
    let directory = listed.attributes("tbody a", "href").remove(0);
    let listed = ada.get(&directory).await;
    assert_eq!(listed.texts("tbody a"), ["<b>.html", "a.txt"]);
    for (link, expected) in listed.attributes("tbody a", "href").iter().zip([script, b"hello"]) {
        let file = ada.get(link).await;
        assert_eq!((file.status, file.text.as_bytes()), (200, expected));
        assert_eq!(file.header("content-type"), Some("application/octet-stream"));
        assert_eq!(file.header("content-security-policy"), Some("sandbox; default-src 'none'"));
        assert!(file.header("content-disposition").unwrap().starts_with("attachment; filename=\""), "{file:?}");
    }
    assert_eq!(ada.get(&format!("{page}/artifacts/file/top")).await.text, "");
    for path in ["file/out", "file/nothing", "browse/nothing", "browse/top"] {
        assert_eq!(ada.get(&format!("{page}/artifacts/{path}")).await.status, 404, "{path}");
    }
    assert_eq!(ada.get(&format!("{page}/artifacts")).await.status, 200);
    // What is not an archive is not listed, and what is damaged is refused.
    let mut damaged = archive.clone();
    damaged[..4].fill(0);
    assert_eq!(runner.upload_artifacts(&job, "out.zip", &damaged).await.status, 201);
    assert_eq!(ada.get(&format!("{page}/artifacts/file/out/a.txt")).await.status, 422);
    assert_eq!(runner.upload_artifacts(&job, "out.zip", b"no archive").await.status, 201);
    assert_eq!(ada.get(&root).await.texts(".empty h2"), ["The files cannot be listed"]);
    assert_eq!(fixture.server.browser().get(&root).await.status, 404);
}

#[tokio::test]
async fn a_ci_file_is_checked_before_it_is_pushed() {
    let fixture = CiFixture::with_file(TWO_STAGES).await;
    let ada = fixture.server.sign_in("ada").await;
    fixture.server.project(&fixture.ada, "empty", 0).await;
    let link = ada.get("/ada/empty/pipelines").await.attributes(".empty a", "href").remove(0);
    let form = ada.get(&link).await.form("form.form");
    let valid = ada.submit(&form.clone().set("content", TWO_STAGES)).await;
    assert_eq!((valid.status, valid.texts("#lint-result p")), (200, vec!["The CI file is valid.".to_owned()]));
    assert_eq!(valid.texts(".stage h3"), ["build", "ship"]);
    assert_eq!(valid.texts(".stage .job"), ["compile", "deploy"]);
    let invalid = ada.submit(&form.clone().set("content", "<b>: {script: [1")).await;
    assert_eq!(invalid.texts("#lint-result .strong"), ["The CI file is not valid."]);
    assert_eq!(invalid.form("form.form").value("content"), "<b>: {script: [1");
}

/// Builds an archive without compression.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let offset = u32::try_from(archive.len()).unwrap();
        let header = |archive: &mut Vec<u8>| {
            let (size, name_length) = (u32::try_from(content.len()).unwrap(), u16::try_from(name.len()).unwrap());
            for number in [20_u16, 0, 0, 0, 0] {
                archive.extend(number.to_le_bytes());
            }
            for number in [crc32(content), size, size] {
                archive.extend(number.to_le_bytes());
            }
            archive.extend(name_length.to_le_bytes());
            archive.extend(0_u16.to_le_bytes());
        };
        archive.extend(b"PK\x03\x04");
        header(&mut archive);
        archive.extend(name.as_bytes());
        archive.extend(*content);
        directory.extend(b"PK\x01\x02\x14\x00");
        header(&mut directory);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length) = (u32::try_from(archive.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    let count = u16::try_from(files.len()).unwrap();
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(length.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend(0_u16.to_le_bytes());
    archive
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
