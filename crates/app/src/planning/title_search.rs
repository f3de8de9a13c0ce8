//! The search for issues and merge requests of all projects by words of their titles.

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::merge_requests::title_search;

pub use holdfast_store::merge_requests::title_search::{FoundIssue, FoundMergeRequest};

use crate::projects::list::viewer;
use crate::{Actor, App, Result, access};

/// Maximum number of words, as in the filters of lists.
const MAX_WORDS: usize = 10;
/// Number of characters that one of the words must have: shorter ones are not in the index.
const MIN_CHARS: usize = 3;

/// The words of a search.
#[derive(Clone, Debug)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    /// Returns the first words of a text. Returns None if all of them are too short to be searched.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().take(MAX_WORDS).map(str::to_owned).collect();
        // Other numerals, such as ½, are no parts of words for the index.
        let is_indexed = |character: &char| character.is_alphabetic() || character.is_ascii_digit();
        let is_searchable = |word: &String| word.chars().filter(is_indexed).count() >= MIN_CHARS;
        words.iter().any(is_searchable).then_some(Self(words))
    }
}

/// Lists the issues that the actor can see and whose titles contain all words, newest first.
#[crate::boxed]
pub async fn list_issues(app: &App, actor: &Actor, words: &SearchWords, page: PageRequest) -> Result<Page<FoundIssue>> {
    access::authorize_instance(actor, InstanceAction::ListIssues)?;
    let mut connection = app.database.connection().await?;
    Ok(title_search::list_issues(&mut connection, &words.0, viewer(app, actor), page).await?)
}

/// Lists the merge requests that the actor can read and whose titles contain all words, newest first.
#[crate::boxed]
pub async fn list_merge_requests(
    app: &App,
    actor: &Actor,
    words: &SearchWords,
    page: PageRequest,
) -> Result<Page<FoundMergeRequest>> {
    access::authorize_instance(actor, InstanceAction::ListIssues)?;
    let mut connection = app.database.connection().await?;
    Ok(title_search::list_merge_requests(&mut connection, &words.0, viewer(app, actor), page).await?)
}

#[cfg(test)]
mod tests {
    use super::SearchWords;

    #[test]
    fn one_word_must_be_in_the_index() {
        let words = |text: &str| SearchWords::parse(text).map(|words| words.0);
        assert_eq!(words(" it  leaks "), Some(vec!["it".to_owned(), "leaks".to_owned()]));
        assert_eq!(words("a bc -- "), None);
        assert_eq!(words(""), None);
        assert_eq!(words(&"word ".repeat(20)).map(|words| words.len()), Some(10));
    }
}
