//! Finding pushes that the database has forgotten, and bringing them back. It forgets what it acknowledged when it is set
//! back in time, or when a replica takes over that was behind. The packs and their receipts are still there.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt;
use holdfast_domain::ids::PackId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_store::objects::Found;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::pack::{self, Known};
use holdfast_store::repository::ref_log;

use super::fetch::{self, Opened};
use super::receipt::{self, Moved, Read, Receipt};
use crate::{Actor, App, Error, Result, access};

pub use super::replay::apply;

/// A push of which only the object store knows.
#[derive(Clone, Debug)]
pub struct Lost {
    pub key: String,
    pub receipt: Receipt,
    /// Set if the database knows that it was begun. It may have been refused, or never have come to its end.
    pub announced: Option<PackId>,
    pub state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// So many of its refs are where it found them, once those before it in the list are brought back.
    Applicable { refs: usize },
    /// Another one found this ref in the same place and took it elsewhere: one of them must have been refused.
    Contested { name: String },
    /// Its refs are where it moved them.
    Present,
    /// It was made and is remembered; what it brought is elsewhere, or nobody needs it any more.
    Known,
    /// The project is not there any more, or another one has its number.
    NoProject,
    /// A ref is elsewhere.
    Moved { name: String, is: Option<String> },
}

/// Which pushes are looked at.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Also those that the database knows to be begun.
    pub unfinished: bool,
    /// Of all of them only these keys, if there are any.
    pub only: Vec<String>,
}

impl Wanted {
    fn includes(&self, lost: &Lost) -> bool {
        match self.only.is_empty() {
            true => lost.announced.is_none() || self.unfinished,
            false => self.only.contains(&lost.key),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Search {
    /// In the order in which they can be brought back.
    pub lost: Vec<Lost>,
    /// Pushes that were not wanted.
    pub left_out: usize,
    /// Objects with receipts that cannot be relied on, and why.
    pub doubtful: Vec<(String, &'static str)>,
    /// Objects that the database does not know, without receipts, and their bytes.
    pub others: (u64, u64),
}

/// Asked of the database at once.
const BATCH: usize = 1000;

pub async fn search(app: &App, actor: &Actor, wanted: &Wanted) -> Result<Search> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let mut found = Search::default();
    let mut chunks = app.objects.list("packs")?.try_chunks(BATCH);
    while let Some(some) = chunks.try_next().await.map_err(|broken| broken.1)? {
        look(app, some, &mut found).await?;
    }
    let all = found.lost.len();
    found.lost.retain(|lost| wanted.includes(lost));
    found.left_out = all - found.lost.len();
    found.lost.sort_by_key(|lost| (lost.receipt.at(), lost.key.clone()));
    judge(app, &mut found.lost).await?;
    Ok(found)
}

async fn look(app: &App, some: Vec<Found>, found: &mut Search) -> Result<()> {
    let keys: Vec<&str> = some.iter().map(|object| object.key.as_str()).collect();
    let known = pack::known(&mut *app.database.connection().await?, &keys).await?;
    for object in some {
        let announced = match known.get(&object.key) {
            Some(Known::Counted) => continue,
            Some(Known::Intent(id)) => Some(*id),
            None => None,
        };
        match receipt::read(app, &object.key, object.size).await? {
            Read::Receipt(receipt) => {
                found.lost.push(Lost { key: object.key, receipt: *receipt, announced, state: State::NoProject });
            }
            Read::Doubtful(why) => found.doubtful.push((object.key, why)),
            // One that is being written has none yet.
            Read::None if announced.is_some() => {}
            Read::None => found.others = (found.others.0 + 1, found.others.1 + object.size),
        }
    }
    Ok(())
}

/// The project that a push was for, unless another one has its number now.
pub(super) async fn open(app: &App, receipt: &Receipt) -> Result<Option<Opened>> {
    let project = ProjectRef::Id(receipt.project.into());
    let opened = match fetch::open(app, &Actor::Operator, &project, ProjectAction::Read).await {
        Ok(opened) => opened,
        Err(Error::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let project = &opened.project;
    let is_same = project.created_at.timestamp_micros() == receipt.project_created
        && project.repository.id.get() == receipt.repository;
    Ok(is_same.then_some(opened))
}

/// Of a push that moves more refs than this, the first are enough.
const ASKED: usize = 100;

/// Objects that were removed may have come back from a copy of the storage. A push that the log has was not forgotten,
/// whatever became of its refs.
async fn is_logged(app: &App, receipt: &Receipt) -> Result<bool> {
    let Some(since) = receipt.at() else { return Ok(false) };
    let mut connection = app.database.connection().await?;
    for it in receipt.moves.iter().take(ASKED) {
        if let Some(ids) = it.ids()
            && ref_log::knows(&mut connection, receipt.repository.into(), &it.name, ids, since).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where refs are, and where those are to be that come before.
#[derive(Default)]
struct Places {
    projects: HashMap<i64, Opened>,
    moved: HashMap<(i64, String), Option<String>>,
}

impl Places {
    fn of(&self, project: i64, name: &str) -> Option<String> {
        match self.moved.get(&(project, name.to_owned())) {
            Some(place) => place.clone(),
            None => {
                let opened = self.projects.get(&project)?;
                Some(opened.refs.find(name)?.id.to_string())
            }
        }
    }

    fn fits(&self, project: i64, it: &Moved) -> bool {
        self.of(project, &it.name) == it.old
    }

    fn fitting<'a>(&self, receipt: &'a Receipt) -> Vec<&'a Moved> {
        receipt.moves.iter().filter(|it| self.fits(receipt.project, it)).collect()
    }

    fn is_whole(&self, receipt: &Receipt) -> bool {
        self.fitting(receipt).len() == receipt.moves.len()
    }

    fn is_part(&self, receipt: &Receipt) -> bool {
        !receipt.atomic && !self.fitting(receipt).is_empty()
    }

    fn is_present(&self, receipt: &Receipt) -> bool {
        receipt.moves.iter().all(|it| self.of(receipt.project, &it.name) == it.new)
    }

    /// Notes where refs will be once it is brought back.
    fn follow(&mut self, receipt: &Receipt) -> State {
        let fitting = self.fitting(receipt);
        let refs = fitting.len();
        for it in fitting {
            self.moved.insert((receipt.project, it.name.clone()), it.new.clone());
        }
        State::Applicable { refs }
    }
}

/// Whether a push was acknowledged its receipt does not tell: it is written before. So what is known to be begun comes
/// behind what is not known at all.
async fn judge(app: &App, lost: &mut Vec<Lost>) -> Result<()> {
    let mut places = Places::default();
    let (mut waiting, mut ordered): (Vec<Lost>, Vec<Lost>) = (Vec::new(), Vec::new());
    for mut it in lost.drain(..) {
        let Some(opened) = open(app, &it.receipt).await? else {
            ordered.push(it);
            continue;
        };
        places.projects.entry(it.receipt.project).or_insert(opened);
        if is_logged(app, &it.receipt).await? {
            it.state = State::Known;
            ordered.push(it);
        } else {
            waiting.push(it);
        }
    }
    let (announced, unknown) = waiting.into_iter().partition(|it| it.announced.is_some());
    put_in_order(&mut places, unknown, &mut ordered);
    put_in_order(&mut places, announced, &mut ordered);
    *lost = ordered;
    Ok(())
}

/// Clocks of nodes differ: one that fits only after a later one comes behind that. What would come back only in part waits
/// for all that comes back whole.
fn put_in_order(places: &mut Places, mut waiting: Vec<Lost>, ordered: &mut Vec<Lost>) {
    let mut claims: HashMap<(i64, String, Option<String>), HashSet<Option<String>>> = HashMap::new();
    let claim = |lost: &Lost, it: &Moved| (lost.receipt.project, it.name.clone(), it.old.clone());
    for lost in &waiting {
        for it in &lost.receipt.moves {
            claims.entry(claim(lost, it)).or_default().insert(it.new.clone());
        }
    }
    loop {
        let before = waiting.len();
        for mut lost in std::mem::take(&mut waiting) {
            let fitting = places.fitting(&lost.receipt);
            let contested = fitting.into_iter().find(|it| claims[&claim(&lost, it)].len() > 1);
            lost.state = if places.is_present(&lost.receipt) {
                State::Present
            } else if let Some(it) = contested {
                State::Contested { name: it.name.clone() }
            } else if places.is_whole(&lost.receipt) {
                places.follow(&lost.receipt)
            } else {
                waiting.push(lost);
                continue;
            };
            ordered.push(lost);
        }
        if waiting.len() < before {
            continue;
        }
        let Some(next) = waiting.iter().position(|lost| places.is_part(&lost.receipt)) else { break };
        let mut lost = waiting.remove(next);
        lost.state = places.follow(&lost.receipt);
        ordered.push(lost);
    }
    for mut lost in waiting {
        let project = lost.receipt.project;
        if let Some(other) = lost.receipt.moves.iter().find(|moved| !places.fits(project, moved)) {
            lost.state = State::Moved { name: other.name.clone(), is: places.of(project, &other.name) };
        }
        ordered.push(lost);
    }
}
