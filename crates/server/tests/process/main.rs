//! Tests of the program as operators run it: a process with its output and signals.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod import;
mod messages;
mod secrets;
mod shutdown;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn holdfast(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    // The default SSH port and directories may be in use by another instance on this machine.
    command.env("HOLDFAST__SSH__LISTEN", "127.0.0.1:0");
    command.env("HOLDFAST_CONFIG", "");
    let own = env!("CARGO_TARGET_TMPDIR");
    command.env("HOLDFAST__STORAGE__URL", format!("file://{own}/objects"));
    command.env("HOLDFAST__GIT__CACHE_DIRECTORY", format!("{own}/cache"));
    command.args(arguments).envs(variables.iter().copied());
    command
}

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    holdfast(arguments, variables).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Creates an empty database and returns its URL.
fn database(name: &str) -> String {
    let cluster = std::env::var("HOLDFAST_TEST_DATABASE_URL").expect("run the tests with dev/test");
    let mut url: url::Url = cluster.parse().unwrap();
    let sql = format!("drop database if exists {name}; create database {name}");
    for statement in sql.split(';') {
        let done = Command::new("psql").args([cluster.as_str(), "-qc", statement]).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    url.set_path(name);
    url.into()
}

#[test]
fn every_command_has_a_help_text() {
    let top = run(&["--help"], &[]);
    assert!(top.status.success());
    let help = text(&top.stdout);
    for command in [
        "serve",
        "worker",
        "migrate",
        "doctor",
        "backup",
        "restore",
        "admin",
        "import",
        "runner",
        "config",
        "routes",
        "openapi",
        "permissions",
    ] {
        assert!(help.contains(command), "{command} is not in the help");
        let own = run(&[command, "--help"], &[]);
        assert!(own.status.success() && own.stdout.len() > 100, "{command}");
    }
    let nothing = run(&[], &[]);
    assert!(!nothing.status.success() && text(&nothing.stderr).contains("Usage"));
}

#[test]
fn invalid_settings_are_reported_with_a_fix() {
    let failed = run(&["serve"], &[("HOLDFAST__SERVER__LISTEN", "everywhere")]);
    let printed = text(&failed.stderr);
    assert!(!failed.status.success());
    assert!(
        printed.contains("server.listen") && printed.contains("everywhere") && printed.contains("fix: "),
        "{printed}"
    );
    let misspelt = run(&["doctor"], &[("HOLDFAST__SERVER__LISTN", "x")]);
    assert!(!misspelt.status.success() && text(&misspelt.stdout).contains("listn"), "{}", text(&misspelt.stdout));
}

#[test]
fn settings_are_shown_without_their_secrets() {
    let shown = run(
        &["config", "show"],
        &[
            ("HOLDFAST__DATABASE__URL", "postgres://u:hunter42@127.0.0.1:1/none"),
            ("HOLDFAST__STORAGE__URL", "s3://holdfast"),
            ("HOLDFAST__STORAGE__ACCESS_KEY_ID", "shown"),
            ("HOLDFAST__STORAGE__SECRET_ACCESS_KEY", "hunter42"),
            ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
            ("HOLDFAST__SERVER__EXTERNAL_URL", "http://shown.example"),
        ],
    );
    let printed = text(&shown.stdout);
    assert!(shown.status.success() && printed.contains("shown.example"), "{printed}{}", text(&shown.stderr));
    assert!(!printed.contains("hunter42") && !printed.contains(ENCRYPTION_KEY), "{printed}");
}

/// Returns the errors that `doctor` reports, except the one about durability: PostgreSQL runs without fsync in tests.
fn problems(found: &Output) -> Vec<String> {
    let output = text(&found.stdout);
    assert!(output.contains("durability error   PostgreSQL can lose committed transactions: fsync"), "{output}");
    output
        .lines()
        .filter(|line| line.contains(" error ") && !line.starts_with("durability"))
        .map(str::to_owned)
        .collect()
}

const ENCRYPTION_KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The access keys of the bucket come from environment variables of the provider, as on AWS.
#[test]
fn doctor_checks_the_object_store() {
    let database = database("process_storage");
    let endpoint = std::env::var("HOLDFAST_TEST_S3_ENDPOINT").expect("run the tests with dev/test");
    let mut environment = vec![
        ("HOLDFAST__DATABASE__URL", database.as_str()),
        ("HOLDFAST__STORAGE__URL", "s3://holdfast/doctor"),
        ("HOLDFAST__STORAGE__ENDPOINT", endpoint.as_str()),
        ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ];
    assert!(run(&["migrate"], &environment).status.success());
    let well = run(&["doctor"], &environment);
    assert_eq!(problems(&well), [""; 0]);
    assert!(text(&well.stdout).contains("storage    ok"), "{}", text(&well.stdout));
    environment[1].1 = "s3://no-such-bucket";
    let ill = run(&["doctor"], &environment);
    let printed = text(&ill.stdout);
    assert!(!ill.status.success() && printed.contains("storage    error") && printed.contains("fix: "), "{printed}");
    assert!(printed.contains("the bucket no-such-bucket does not exist") && !printed.contains("<?xml"), "{printed}");
}

#[test]
fn doctor_reports_an_unreachable_database() {
    let url = "postgres://u:hunter42@127.0.0.1:1/none";
    let ill = run(&["doctor"], &[("HOLDFAST__DATABASE__URL", url)]);
    let printed = text(&ill.stdout) + &text(&ill.stderr);
    assert!(!ill.status.success() && printed.contains("database   error") && printed.contains("fix: "), "{printed}");
    assert!(!printed.contains("hunter42"));
}

#[test]
fn an_empty_database_can_be_migrated_and_served() {
    let url = database("process_first");
    let objects = format!("file://{}/objects", env!("CARGO_TARGET_TMPDIR"));
    let environment = [
        ("HOLDFAST__DATABASE__URL", url.as_str()),
        ("HOLDFAST__STORAGE__URL", objects.as_str()),
        ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
    ];
    let too_early = run(&["admin", "token", "create", "--user", "root"], &environment);
    assert!(text(&too_early.stderr).contains("holdfast migrate"), "{}", text(&too_early.stderr));
    let behind = run(&["serve"], &[environment[0], ("HOLDFAST__SERVER__LISTEN", "127.0.0.1:0")]);
    assert!(!behind.status.success() && text(&behind.stderr).contains("holdfast migrate"), "{}", text(&behind.stderr));

    // Two concurrent migrations: one waits for the other.
    let children = [(); 2].map(|()| holdfast(&["migrate"], &environment).stdout(Stdio::piped()).spawn().unwrap());
    for child in children {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success() && text(&done.stdout).ends_with("the schema is current\n"), "{done:?}");
    }
    assert!(run(&["migrate", "--check"], &environment).status.success());
    assert_eq!(problems(&run(&["doctor"], &environment)), [""; 0]);

    let mut create = holdfast(
        &[
            "admin",
            "user",
            "create",
            "--username",
            "root",
            "--email",
            "r@example.com",
            "--name",
            "R",
            "--admin",
            "--password-stdin",
        ],
        &environment,
    );
    let mut child = create.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"long enough\n").unwrap();
    assert!(child.wait().unwrap().success());
    let made = run(&["admin", "token", "create", "--user", "root", "--name", "first"], &environment);
    let token = text(&made.stdout).lines().last().unwrap().to_owned();
    assert!(token.starts_with("hfp_"), "{token}");
    let list = text(&run(&["admin", "token", "list", "--user", "root"], &environment).stdout);
    assert!(list.contains("first") && !list.contains(&token), "{list}");
    let nobody = run(&["admin", "token", "create", "--user", "nobody"], &environment);
    assert!(!nobody.status.success() && text(&nobody.stderr).contains("no user nobody"));

    let server = Server::start(&url);
    let answer = server.get(&format!("/api/v3/user?private_token={token}"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"username\":\"root\""), "{answer}");
}

#[test]
fn metrics_count_requests_and_unknown_methods_add_no_series() {
    let url = database("process_metrics");
    assert!(run(&["migrate"], &[("HOLDFAST__DATABASE__URL", &url)]).status.success());
    let server = Server::start(&url);
    assert!(server.get("/readyz").contains("ready"));
    let mut stream = server.connect();
    stream.write_all(b"FOO123 /api/v3/user HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    let metrics = get(&server.operations, "/metrics");
    assert!(
        metrics.contains("holdfast_http_requests_total{method=\"GET\",route=\"/readyz\",status=\"200\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("method=\"other\"") && !metrics.contains("FOO123"), "{metrics}");
}

/// The server's files are accessible only to its own user, whatever umask the process was started with.
#[test]
fn a_server_keeps_its_files_private() {
    let url = database("process_umask");
    assert!(run(&["migrate"], &[("HOLDFAST__DATABASE__URL", &url)]).status.success());
    let server = Server::start(&url);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    assert!(status.lines().any(|line| line == "Umask:\t0077"), "{status}");
}

struct Server {
    child: Child,
    address: String,
    operations: String,
}

impl Server {
    fn start(database: &str) -> Self {
        let free = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let [address, operations] = free.each_ref().map(|listener| listener.local_addr().unwrap().to_string());
        drop(free);
        let variables = [
            ("HOLDFAST__DATABASE__URL", database),
            ("HOLDFAST__SERVER__LISTEN", &address),
            ("HOLDFAST__MONITORING__LISTEN", &operations),
            ("HOLDFAST__LOG__FORMAT", "json"),
            ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
        ];
        let mut child = holdfast(&["serve"], &variables).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let serving = log.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"server started\"")));
        assert!(serving.is_some(), "the server did not start");
        // The log must be read continuously: the server blocks when the pipe is full.
        std::thread::spawn(move || log.for_each(drop));
        Self { child, address, operations }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    fn get(&self, path: &str) -> String {
        get(&self.address, path)
    }

    fn wait_until(&self, description: &str, is_done: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is_done(self) {
            assert!(Instant::now() < deadline, "did not happen: {description}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn doctor_reports_common_mistakes() {
    let database = database("process_doctor");
    let objects = format!("file://{}/doctor", env!("CARGO_TARGET_TMPDIR"));
    let sound = [
        ("HOLDFAST__DATABASE__URL", database.as_str()),
        ("HOLDFAST__STORAGE__URL", objects.as_str()),
        ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
    ];
    let behind = problems(&run(&["doctor"], &sound));
    assert!(behind.len() == 1 && behind[0].starts_with("schema     error"), "{behind:?}");
    assert!(run(&["migrate"], &sound).status.success());
    for (variable, value, finding) in [
        ("HOLDFAST__SERVER__EXTERNAL_URL", "http://code.example.com", "address    error"),
        ("HOLDFAST__ENCRYPTION__KEY", "", "encryption error"),
        ("HOLDFAST__DATABASE__MAX_CONNECTIONS", "5000", "pool       error"),
        ("HOLDFAST__GIT__PROGRAM", "/no/such/git", "git        error"),
        ("HOLDFAST__GIT__CACHE_DIRECTORY", "/proc/none", "git        error"),
        ("HOLDFAST__STORAGE__URL", "file:///proc/none", "storage    error"),
    ] {
        let mut environment = sound.to_vec();
        environment.push((variable, value));
        let found = run(&["doctor"], &environment);
        let complaints = problems(&found);
        assert!(
            !found.status.success() && complaints.len() == 1 && complaints[0].starts_with(finding),
            "{complaints:?}"
        );
        assert!(text(&found.stdout).contains("  fix: "));
        // The other error is about durability.
        assert!(text(&found.stderr).contains("2 errors, "), "{}", text(&found.stderr));
    }
    for (variable, value, finding) in [
        ("HOLDFAST__GIT__CACHE_MAX_BYTES", "1000000000000000", "git        warning"),
        ("PATH", "/nowhere", "backup     warning"),
        ("HOLDFAST__SERVER__TRUSTED_PROXIES", "0.0.0.0/0", "proxies    warning"),
        ("HOLDFAST__SERVER__TRUSTED_PROXIES", "10.0.0.0/8,::/0", "proxies    warning"),
        ("HOLDFAST__SERVER__TRUSTED_PROXIES", "10.0.0.0/8", "proxies    ok"),
        ("HOLDFAST__SERVER__EXTERNAL_URL", "https://code.example.com", "proxies    warning"),
        ("HOLDFAST__WORKER__CONCURRENCY", "1", "encryption ok      an encryption key is set; nothing is encrypted"),
        ("HOLDFAST__DATABASE__MAX_CONNECTIONS", "7", "pool       ok      this process uses at most 7 of the server's"),
    ] {
        let found = run(&["doctor"], &[&sound[..], &[(variable, value)]].concat());
        assert!(text(&found.stdout).contains(finding), "{}", text(&found.stdout));
    }
}

fn assert_private(directory: &Path) {
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.metadata().unwrap().mode() & 0o077, 0, "{}", path.display());
        if path.is_dir() {
            assert_private(&path);
        }
    }
    assert_eq!(directory.metadata().unwrap().mode() & 0o077, 0);
}

/// A backup that fails, for example because the disk is full, must free the space that it used.
#[test]
fn a_failed_backup_leaves_no_files() {
    let database = database("process_backup_fails");
    let directory = tempfile::tempdir().unwrap();
    let objects = format!("file://{}/objects", directory.path().display());
    let here = [("HOLDFAST__DATABASE__URL", database.as_str()), ("HOLDFAST__STORAGE__URL", objects.as_str())];
    assert!(run(&["migrate"], &here).status.success());
    let backups = directory.path().join("backups");
    // An empty PATH directory makes pg_dump unavailable.
    let mut command = holdfast(&["backup", backups.to_str().unwrap()], &here);
    let failed = command.env("PATH", directory.path()).output().unwrap();
    assert!(
        !failed.status.success() && text(&failed.stderr).contains("pg_dump is not installed"),
        "{}",
        text(&failed.stderr)
    );
    let left: Vec<_> = backups.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["objects"]);
}

/// A restored installation has everything that was acknowledged before the backup. `dev/test-backup` tests this under
/// load.
#[test]
fn a_backup_can_be_restored_elsewhere() {
    let (first, second) = (database("process_backup"), database("process_restored"));
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| format!("file://{}/{name}", directory.path().display());
    let (stored, elsewhere) = (place("objects"), place("elsewhere"));
    let here = [
        ("HOLDFAST__DATABASE__URL", first.as_str()),
        ("HOLDFAST__STORAGE__URL", stored.as_str()),
        ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
    ];
    let there = [
        ("HOLDFAST__DATABASE__URL", second.as_str()),
        ("HOLDFAST__STORAGE__URL", elsewhere.as_str()),
        ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
    ];
    let backups = directory.path().join("backups");
    let backups = backups.to_str().unwrap();
    let create = |name: &str| {
        let mail = format!("{name}@example.com");
        let words = ["admin", "user", "create", "--username", name, "--email", &mail, "--name", name];
        assert!(run(&words, &here).status.success());
    };
    assert!(run(&["migrate"], &here).status.success());
    create("early");
    assert!(run(&["backup", backups], &here).status.success());
    assert_private(Path::new(backups));
    // A backup that was interrupted while it wrote its last file.
    let torn = Path::new(backups).join("unfinished-20990101T000000.000000Z");
    std::fs::create_dir(&torn).unwrap();
    std::fs::write(torn.join("manifest.json"), "").unwrap();
    create("late");
    let unfit = run(&["restore", backups], &here);
    assert!(!unfit.status.success() && text(&unfit.stderr).contains("empty"), "{}", text(&unfit.stderr));
    let none = run(&["restore", backups, "--at", "2020-01-01T00:00:00Z"], &there);
    assert!(!none.status.success() && text(&none.stderr).contains("the first backup"), "{}", text(&none.stderr));
    let restored = run(&["restore", backups], &there);
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    assert!(text(&restored.stdout).contains("copied 0 objects"), "{}", text(&restored.stdout));
    assert!(run(&["migrate", "--check"], &there).status.success());
    let token = |name: &str| run(&["admin", "token", "create", "--user", name], &there).status.success();
    assert!(token("early") && !token("late"), "what came after the backup is not in it");
}
