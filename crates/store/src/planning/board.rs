//! The cards of a project's board: the open issues of each list, and of the backlog.

use chrono::NaiveDate;
use holdfast_domain::ids::{BoardListId, ProjectId, UserId};
use holdfast_domain::planning::ConfidentialAccess;

use crate::{Connection, Result};

/// An open issue on a board. An issue with the labels of several lists has a card in each of them.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct BoardCard {
    list_id: Option<i64>,
    pub iid: i64,
    pub title: String,
    pub confidential: bool,
    pub due_date: Option<NaiveDate>,
    pub notes_count: i32,
    pub labels: Vec<String>,
    assignee_name: Option<String>,
    assignee_username: Option<String>,
}

impl BoardCard {
    /// Returns the list of the card, or None for the backlog: the issues that are in no list.
    pub fn list(&self) -> Option<BoardListId> {
        self.list_id.map(Into::into)
    }

    /// Returns the name and the username of the assignee.
    pub fn assignee(&self) -> Option<(&str, &str)> {
        Some((self.assignee_name.as_deref()?, self.assignee_username.as_deref()?))
    }
}

/// Which cards of a board are read.
#[derive(Clone, Copy, Debug)]
pub struct CardRange {
    /// Maximum number of lists, from the left.
    pub lists: i32,
    /// Maximum number of cards of a list.
    pub cards_per_list: i64,
}

/// Each list reads the index of its label backwards, and skips closed issues and those that the viewer does not see,
/// until it has all of its cards. The counters of the label say how many there can be, so that a list without open
/// issues reads nothing, and no list reads on behind its last open issue, unless issues are hidden from the viewer. The
/// backlog reads the index of open issues by creation, and skips those that are in a list.
const QUERY: &str = "\
    select c.list_id, i.iid, i.title, i.confidential, i.due_date, i.notes_count, \
      u.name as assignee_name, u.username as assignee_username, \
      array(select l.title from issue_labels x join labels l on l.id = x.label_id where x.issue_id = i.id \
        order by l.title) as labels \
    from ( \
      select b.id as list_id, b.position, found.id \
      from board_lists b join labels l on l.id = b.label_id cross join lateral ( \
        select i.id from issue_labels x join issues i on i.id = x.issue_id \
        where x.label_id = b.label_id and i.project_id = $1 and not i.closed \
          and (not i.confidential or $2 or i.author_id = $3 or i.assignee_id = $3) \
        order by x.issue_id desc \
        limit least($5::bigint, l.open_issues + \
          case when $2 or $3 is not null then l.open_confidential_issues else 0 end)) found \
      where b.project_id = $1 and b.position < $4 \
      union all \
      (select null::bigint, -1, found.id \
      from (values (false), (true)) kind (confidential) cross join lateral ( \
        select i.id, i.created_at from issues i \
        where i.project_id = $1 and not i.closed and i.confidential = kind.confidential \
          and (not i.confidential or $2 or i.author_id = $3 or i.assignee_id = $3) \
          and not exists (select from issue_labels x join board_lists b on b.label_id = x.label_id \
            where x.issue_id = i.id and b.project_id = $1 and b.position is not null) \
        order by i.created_at desc, i.id desc limit $5) found \
      order by found.created_at desc, found.id desc limit $5)) c \
    join issues i on i.id = c.id left join users u on u.id = i.assignee_id \
    order by c.position, i.id desc";

/// Returns the cards of the backlog and of the lists from left to right, the newest issue of each first.
pub async fn list_cards(
    connection: &mut Connection,
    project: ProjectId,
    confidential_access: ConfidentialAccess,
    range: CardRange,
) -> Result<Vec<BoardCard>> {
    let (sees_all, viewer) = match confidential_access {
        ConfidentialAccess::All => (true, None),
        ConfidentialAccess::Own(user) => (false, Some(UserId::get(user))),
        ConfidentialAccess::None => (false, None),
    };
    let query = sqlx::query_as::<_, BoardCard>(QUERY).bind(project.get()).bind(sees_all).bind(viewer);
    Ok(query.bind(range.lists).bind(range.cards_per_list).fetch_all(connection).await?)
}
