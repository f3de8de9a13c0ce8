//! Contributors: `git log --numstat`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::pair::{Pair, Request, lossy, status};

#[derive(Default)]
struct Person {
    commits: u64,
    additions: u64,
    deletions: u64,
    newest: i64,
    /// The author names of the newest commits; several if these have the same date.
    names: BTreeSet<String>,
}

pub async fn check(pair: &mut Pair) {
    let request = Request::new("contributors", "/contributors");
    let ours = pair.list(&request, 4).await;
    let Some(branch) = &pair.default else {
        pair.assert_same(&request, &ours, &status(404));
        return;
    };
    let people = expected(pair, branch).await;
    let mut listed = ours.as_array().cloned().unwrap_or_default();
    let newest: Vec<i64> = listed.iter().filter_map(|item| Some(people.get(item["email"].as_str()?)?.newest)).collect();
    listed.sort_by_key(|item| item["email"].as_str().map(str::to_owned));
    // Among commits with the same date, the order and the name are arbitrary.
    let gits = people.into_iter().map(|(address, person)| {
        let our_name = listed.iter().find(|item| item["email"] == *address).map(|item| item["name"].clone());
        let our_name = our_name.filter(|name| person.names.iter().any(|known| *name == **known));
        let name = our_name.unwrap_or_else(|| json!(person.names));
        let Person { commits, additions, deletions, .. } = person;
        json!({"name": name, "email": address, "commits": commits, "additions": additions, "deletions": deletions})
    });
    let gits: Value = gits.collect();
    let ours = if ours.is_array() { listed.into() } else { ours };
    pair.assert_same(&request, &ours, &gits);
    let order = Request::new("contributors' order", "/contributors");
    let mut sorted = newest.clone();
    sorted.sort_by_key(|date| std::cmp::Reverse(*date));
    pair.assert_same(&order, &json!(newest), &json!(sorted));
}

async fn expected(pair: &Pair, branch: &str) -> BTreeMap<String, Person> {
    let reference = format!("refs/heads/{branch}");
    let arguments = ["log", "--no-merges", "--numstat", "--format=commit %ct%x00%an%x00%ae", &reference, "--"];
    let log = pair.local.git(arguments).await;
    let mut people: BTreeMap<String, Person> = BTreeMap::new();
    let mut address = String::new();
    for line in log.split(|byte| *byte == b'\n') {
        if let Some(facts) = line.strip_prefix(b"commit ") {
            let mut facts = facts.split(|byte| *byte == 0).map(lossy);
            let mut next = || facts.next().unwrap();
            let (at, name) = (next().parse().unwrap(), next());
            address = next();
            let person = people.entry(address.clone()).or_default();
            if person.commits == 0 || at > person.newest {
                person.newest = at;
                person.names.clear();
            }
            if at == person.newest {
                person.names.insert(name);
            }
            person.commits += 1;
        } else if let [additions, deletions, _] = line.splitn(3, |byte| *byte == b'\t').collect::<Vec<_>>()[..] {
            let person = people.get_mut(&address).unwrap();
            // git prints a dash for binary files.
            person.additions += lossy(additions).parse().unwrap_or(0);
            person.deletions += lossy(deletions).parse().unwrap_or(0);
        }
    }
    people
}
