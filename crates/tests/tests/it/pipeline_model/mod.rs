//! Pipelines from their creation to their end: whatever people, runners and time do to them, what the server shows is
//! what a plain model says. `HOLDFAST_SEED` repeats a run, which prints it; `HOLDFAST_HISTORIES` is how many pipelines.

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
use holdfast_tests::{BEGINNING, Dice, Server};

use driver::Play;
use model::Time;

const PROJECTS: usize = 8;
const HISTORIES: usize = 40;
/// So many do everything there is to do.
const ENOUGH: usize = 150;

/// What must have been done, or the test says little.
const DONE: [&str; 34] = [
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

/// On many threads, which write no log: the kit keeps it, and so many requests would fill the memory.
fn run(test: impl Future<Output = ()>) {
    let be_quiet = || tracing::subscriber::set_default(tracing::subscriber::NoSubscriber::default());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().on_thread_start(move || std::mem::forget(be_quiet())).build().unwrap();
    let _quiet = be_quiet();
    runtime.block_on(test);
}

/// The clock is everybody's, so it moves between rounds, when nobody does anything.
struct World {
    server: Server,
    now: Time,
    dice: Dice,
    partitions_until: NaiveDate,
}

impl World {
    fn advance(&mut self, seconds: usize) {
        let by = TimeDelta::seconds(seconds as i64);
        self.server.advance(by);
        self.now += by;
    }

    async fn let_time_pass(&mut self, plays: &mut [Play]) {
        let seconds = match self.dice.below(100) {
            0..10 => 0,
            10..65 => self.dice.between(1, 20),
            65..85 => self.dice.between(20, 600),
            85..95 => self.dice.between(10 * 60, 55 * 60),
            95..98 => self.dice.between(60 * 60, 80 * 60),
            98 => self.dice.between(2 * 3600, 20 * 3600),
            _ => self.dice.between(23 * 3600, 26 * 3600),
        };
        self.advance(seconds);
        let is_tended = if seconds > 600 { !self.dice.one_in(3) } else { self.dice.one_in(8) };
        if is_tended {
            while plays.iter().any(|play| play.is_at_a_deadline(self.now)) {
                self.advance(1);
            }
        }
        self.make_partitions().await;
        if is_tended {
            tend(&self.server).await;
        }
        for play in plays {
            play.time_passes(self.now, is_tended);
        }
    }

    /// As the nightly job does.
    async fn make_partitions(&mut self) {
        let today = self.now.date_naive();
        if today >= self.partitions_until {
            self.partitions_until = today + TimeDelta::days(10);
            let mut database = self.server.database().await;
            sqlx::query("select make_partitions($1)").bind(today).execute(&mut database).await.unwrap();
        }
    }
}

/// What is stuck is given up.
async fn tend(server: &Server) {
    server.tend().await;
}

#[test]
fn random_histories_follow_the_model() {
    let (seed, histories) = (seed(), number("HOLDFAST_HISTORIES", HISTORIES as u64) as usize);
    println!("HOLDFAST_SEED={seed} HOLDFAST_HISTORIES={histories}");
    run(async move {
        let began = Instant::now();
        let (plays, rounds) = play(seed, histories).await;
        let mut tally = BTreeMap::<String, usize>::new();
        for (what, count) in plays.iter().flat_map(|play| &play.tally) {
            *tally.entry(what.clone()).or_default() += count;
        }
        let operations: usize = plays.iter().map(|play| play.operations).sum();
        let compared: usize = plays.iter().map(|play| play.compared).sum();
        let builds: usize = plays.iter().flat_map(|play| &play.over).map(|pipeline| pipeline.builds.len()).sum();
        println!("{tally:#?}");
        println!(
            "{histories} histories, {builds} builds, {operations} operations in {rounds} rounds, {compared} comparisons \
             without a difference, {:.1?}",
            began.elapsed()
        );
        if histories >= ENOUGH {
            let missing: Vec<&str> = DONE.into_iter().filter(|what| !tally.contains_key(*what)).collect();
            assert!(missing.is_empty(), "never done: {missing:?}");
        }
    });
}

async fn play(seed: u64, histories: usize) -> (Vec<Play>, usize) {
    let (server, now) = (Server::start().await, BEGINNING.parse().unwrap());
    let mut plays = Vec::new();
    for number in 0..PROJECTS {
        let share = histories / PROJECTS + usize::from(number < histories % PROJECTS);
        plays.push(Play::new(&server, number, Dice::new(seed, number as u64 + 1), share, now).await);
    }
    let mut world = World { server, now, dice: Dice::new(seed, 0), partitions_until: now.date_naive() };
    let mut rounds = 0;
    while !plays.iter().all(Play::is_done) {
        let round = |mut play: Play| async move {
            play.round().await;
            play
        };
        plays = all_at_once(plays, round).await;
        world.let_time_pass(&mut plays).await;
        rounds += 1;
    }
    let look_again = |mut play: Play| async move {
        play.compare_all().await;
        play
    };
    (all_at_once(plays, look_again).await, rounds)
}

async fn all_at_once<F>(plays: Vec<Play>, act: impl Fn(Play) -> F) -> Vec<Play>
where
    F: Future<Output = Play> + Send + 'static,
{
    let tasks: Vec<_> = plays.into_iter().map(|play| tokio::spawn(act(play))).collect();
    let mut plays = Vec::new();
    for task in tasks {
        plays.push(task.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())));
    }
    plays
}
