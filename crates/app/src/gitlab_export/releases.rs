//! Imports releases and members.

use holdfast_domain::AccessLevel;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_store::Connection;
use holdfast_store::activity::event;
use holdfast_store::namespaces::member;
use holdfast_store::repository::ref_update;
use holdfast_store::repository::release::{self, LinkAttributes, LinkType, NewRelease};

use super::records::{Member, Release};
use super::relations::Relation;
use super::run::Batch;
use super::texts::{clean_text, clean_title};
use crate::repository::refs::release::are_valid_links;
use crate::{Result, events};

impl Batch<'_> {
    pub async fn import_release(&mut self, connection: &mut Connection, record: &Release) -> Result<()> {
        let relation = Relation::Releases;
        let name = format!("refs/tags/{}", record.tag.replace('\0', ""));
        if ref_update::find_current(connection, self.project.repository.id, &[&name]).await?.is_empty() {
            self.leave_out(relation, "the repository does not have the tag", &record.tag);
            return Ok(());
        }
        let mut links = Vec::new();
        for link in &record.links.0 {
            let (name, url) = (link.name.clone().unwrap_or_default(), link.url.clone().unwrap_or_default());
            let link_type = link.link_type.clone().and_then(|word| LinkType::try_from(word).ok());
            links.push(LinkAttributes { name, url, link_type: link_type.unwrap_or(LinkType::Other) });
            if !are_valid_links(&links) {
                links.pop();
                self.leave_out(relation, "links that are not valid", &record.tag);
            }
        }
        let name = record.name.as_deref().filter(|name| !name.trim().is_empty());
        let name = name.map(|name| clean_title(&mut self.progress, relation, name));
        let description = record.description.as_deref().unwrap_or_default();
        let description = clean_text(&mut self.progress, relation, description, MAX_TEXT_BYTES);
        let new = NewRelease {
            name: name.as_deref(),
            description: &description,
            author: self.users.find(self.app, connection, record.author_id).await?,
            released_at: record.released_at.0,
            links: &links,
        };
        let created_at = record.created_at.0.unwrap_or(self.now);
        match release::insert(connection, self.project.id, &record.tag, new, created_at).await? {
            true => self.progress.add_imported(relation.name(), 1),
            false => self.leave_out(relation, "the tag has another release", &record.tag),
        }
        Ok(())
    }

    /// Adds a mapped user to the members of the project. Other users of the export do not become members.
    pub async fn import_member(&mut self, connection: &mut Connection, record: &Member) -> Result<()> {
        let relation = Relation::Members;
        let username = record.user.as_ref().and_then(|user| user.username.clone()).unwrap_or_default();
        let Some(user) = self.users.mapped(connection, record.user_id).await? else {
            self.leave_out(relation, "the user is not mapped to a local user", &username);
            return Ok(());
        };
        // An owner of a project is a master here.
        let level = record.access_level.map(|level| level.min(AccessLevel::Master.as_i16().into()));
        let Some(level) = level.and_then(|level| AccessLevel::try_from(level).ok()) else {
            self.leave_out(relation, "the access level does not exist here", &username);
            return Ok(());
        };
        let expires_at = record.expires_at.0;
        if expires_at.is_some_and(|date| date <= self.app.today()) {
            self.leave_out(relation, "the membership has expired", &username);
            return Ok(());
        }
        let id = self.project.id;
        match member::add_to_project(connection, id, user, level, expires_at, self.now).await? {
            Some(member) => {
                let added = events::project::member_added(&self.project, &member.user, level, self.now);
                event::publish(connection, Some(id), &added, self.now).await?;
                self.progress.add_imported(relation.name(), 1);
            }
            None => self.leave_out(relation, "the user is a member already, or was deleted", &username),
        }
        Ok(())
    }
}
