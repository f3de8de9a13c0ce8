//! Random histories of pipelines: after every operation of users, runners and the clock, the server shows the same as a
//! simple model.
//!
//! `HOLDFAST_SEED` repeats a run, which prints its seed; `HOLDFAST_HISTORIES` is the number of pipelines.

mod compare;
mod driver;
mod http;
mod model;
mod operations;
mod plan;
mod race;

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::{NaiveDate, TimeDelta};
use holdfast_tests::{START_TIME, SeededRng, Server};

use driver::Driver;
use model::Time;

const PROJECTS: usize = 8;
const HISTORIES: usize = 40;
/// The number of histories from which on every operation is expected to occur.
const MIN_HISTORIES: usize = 150;

/// Operations that must have occurred, with their statuses; otherwise the test shows little.
const REQUIRED_OPERATIONS: [&str; 34] = [
    "ask: 201",
    "ask in vain: 204",
    "report success: 200",
    "report failed: 200",
    "report again: 403",
    "late report of success: 403",
    "late report of failed: 403",
    "late report of canceled: 403",
    "late append: 403",
    "report of pending with a wrong token: 403",
    "report of running with a wrong token: 403",
    "report of success with a wrong token: 403",
    "touch: 200",
    "append: 202",
    "cancel created: 201",
    "cancel pending: 201",
    "cancel running: 201",
    "cancel success: 201",
    "cancel failed: 201",
    "cancel canceled: 201",
    "cancel skipped: 201",
    "cancel running pipeline: 200",
    "retry success: 201",
    "retry failed: 201",
    "retry canceled: 201",
    "retry failed in vain: 403",
    "retry skipped in vain: 403",
    "retry success pipeline: 201",
    "retry failed pipeline: 201",
    "retry canceled pipeline: 201",
    "play skipped: 200",
    "play success in vain: 400",
    "builds off: 204",
    "given up: silent",
];

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |value| value.parse().unwrap())
}

fn seed() -> u64 {
    number("HOLDFAST_SEED", u64::from(std::process::id()))
}

/// Runs a test on several threads without a log: the test kit keeps the log in memory, which would grow too large.
fn run_without_log(test: impl Future<Output = ()>) {
    let disable_log = || tracing::subscriber::set_default(tracing::subscriber::NoSubscriber::default());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().on_thread_start(move || std::mem::forget(disable_log())).build().unwrap();
    let _quiet = disable_log();
    runtime.block_on(test);
}

/// The clock that all drivers share. It is advanced only between rounds, while no request is running.
struct ModelClock {
    server: Server,
    now: Time,
    rng: SeededRng,
    partitions_until: NaiveDate,
}

impl ModelClock {
    fn advance(&mut self, seconds: usize) {
        let duration = TimeDelta::seconds(seconds as i64);
        self.server.advance(duration);
        self.now += duration;
    }

    async fn advance_randomly(&mut self, drivers: &mut [Driver]) {
        let seconds = match self.rng.next_below(100) {
            0..10 => 0,
            10..65 => self.rng.next_between(1, 20),
            65..85 => self.rng.next_between(20, 600),
            85..95 => self.rng.next_between(10 * 60, 55 * 60),
            95..98 => self.rng.next_between(60 * 60, 80 * 60),
            98 => self.rng.next_between(2 * 3600, 20 * 3600),
            _ => self.rng.next_between(23 * 3600, 26 * 3600),
        };
        self.advance(seconds);
        let is_sweeping = if seconds > 600 { !self.rng.one_in(3) } else { self.rng.one_in(8) };
        if is_sweeping {
            while drivers.iter().any(|driver| driver.is_at_deadline(self.now)) {
                self.advance(1);
            }
        }
        self.create_partitions().await;
        if is_sweeping {
            fail_stale_builds(&self.server).await;
        }
        for play in drivers {
            play.advance_time(self.now, is_sweeping);
        }
    }

    /// Creates partitions, as the daily sweep does.
    async fn create_partitions(&mut self) {
        let today = self.now.date_naive();
        if today >= self.partitions_until {
            self.partitions_until = today + TimeDelta::days(10);
            let mut database = self.server.database().await;
            sqlx::query("select make_partitions($1)").bind(today).execute(&mut database).await.unwrap();
        }
    }
}

async fn fail_stale_builds(server: &Server) {
    server.fail_stale_builds().await;
}

#[test]
fn random_histories_follow_the_model() {
    let (seed, histories) = (seed(), number("HOLDFAST_HISTORIES", HISTORIES as u64) as usize);
    println!("HOLDFAST_SEED={seed} HOLDFAST_HISTORIES={histories}");
    run_without_log(async move {
        let began = Instant::now();
        let (plays, rounds) = run_histories(seed, histories).await;
        let mut tally = BTreeMap::<String, usize>::new();
        for (what, count) in plays.iter().flat_map(|play| &play.counts) {
            *tally.entry(what.clone()).or_default() += count;
        }
        let operations: usize = plays.iter().map(|play| play.operation_count).sum();
        let compared: usize = plays.iter().map(|play| play.comparison_count).sum();
        let builds: usize = plays.iter().flat_map(|play| &play.finished).map(|pipeline| pipeline.builds.len()).sum();
        println!("{tally:#?}");
        println!(
            "{histories} histories, {builds} builds, {operations} operations in {rounds} rounds, {compared} comparisons \
             without a difference, {:.1?}",
            began.elapsed()
        );
        if histories >= MIN_HISTORIES {
            let missing: Vec<&str> =
                REQUIRED_OPERATIONS.into_iter().filter(|what| !tally.contains_key(*what)).collect();
            assert!(missing.is_empty(), "never done: {missing:?}");
        }
    });
}

async fn run_histories(seed: u64, histories: usize) -> (Vec<Driver>, usize) {
    let (server, now) = (Server::start().await, START_TIME.parse().unwrap());
    let mut plays = Vec::new();
    for number in 0..PROJECTS {
        let share = histories / PROJECTS + usize::from(number < histories % PROJECTS);
        plays.push(Driver::new(&server, number, SeededRng::new(seed, number as u64 + 1), share, now).await);
    }
    let mut clock = ModelClock { server, now, rng: SeededRng::new(seed, 0), partitions_until: now.date_naive() };
    let mut rounds = 0;
    while !plays.iter().all(Driver::is_done) {
        let round = |mut play: Driver| async move {
            play.run_round().await;
            play
        };
        plays = run_concurrently(plays, round).await;
        clock.advance_randomly(&mut plays).await;
        rounds += 1;
    }
    let look_again = |mut play: Driver| async move {
        play.compare_all().await;
        play
    };
    (run_concurrently(plays, look_again).await, rounds)
}

async fn run_concurrently<F>(drivers: Vec<Driver>, act: impl Fn(Driver) -> F) -> Vec<Driver>
where
    F: Future<Output = Driver> + Send + 'static,
{
    let tasks: Vec<_> = drivers.into_iter().map(|play| tokio::spawn(act(play))).collect();
    let mut plays = Vec::new();
    for task in tasks {
        plays.push(task.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())));
    }
    plays
}
