//! The stream of events of a build: its state and the lines of its trace.

use holdfast_app::ci::{build, trace_part};
use holdfast_app::live::Watch;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ci::Status;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::build::OneBuild;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::live::{self, Event, LiveSource, Update};
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::build::{TracePosition, build_page};
use crate::views::ci::trace::{MAX_LINES, TraceView};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadBuilds);
    pages.get("/:namespace/:project/builds/:build_id/live", read, Cost::Normal, "Changes of a build", follow);
}

params! {
    struct FollowBuild {
        flatten build: OneBuild,
        optional from: String,
    }
}

async fn follow(context: RequestContext, FollowBuild { build, from }: FollowBuild) -> PageResult {
    let page = build.project.links().build(build.build_id);
    let last_id = context.info.last_event_id.clone().or(from);
    let position = last_id.as_deref().and_then(TracePosition::parse);
    let source = BuildSource {
        project: build.project.reference(),
        id: build.build_id,
        position: position.unwrap_or(TracePosition { offset: 0, number: 1 }),
        status: None,
        has_begun: false,
    };
    live::respond(context, Watch::Build(build.build_id), page, source).await
}

/// The changes of a build.
struct BuildSource {
    project: ProjectRef,
    id: BuildId,
    /// The end of what was sent.
    position: TracePosition,
    /// The status that was sent last.
    status: Option<Status>,
    has_begun: bool,
}

impl LiveSource for BuildSource {
    async fn update(&mut self, context: &RequestContext) -> Result<Update, PageError> {
        let found =
            trace_part::show(context.app(), &context.actor, &self.project, self.id, self.position.offset).await?;
        let mut update = Update::default();
        let shown = first_lines(&found.part.content, MAX_LINES);
        let has_more = found.part.has_more || shown.len() < found.part.content.len();
        if !shown.is_empty() {
            let view = TraceView::new(shown, self.position.number);
            self.position = TracePosition {
                offset: found.part.start.saturating_add(i64::try_from(shown.len()).unwrap_or(0)),
                number: view.next_number,
            };
            let id = Some(self.position.to_string());
            update.events.push(Event { id, ..Event::new("chunk", respond::render(&view)?) });
        }
        // The state follows the lines that were written in it. It is not read before the stream has begun.
        update.has_more = has_more || !self.has_begun;
        self.has_begun = true;
        if self.status != Some(found.status) && !update.has_more {
            update.events.push(Event::new("state", self.state(context).await?));
            self.status = Some(found.status);
        }
        update.is_over = !update.has_more && !found.status.is_active();
        Ok(update)
    }
}

impl BuildSource {
    /// Renders what the page shows beside the trace.
    async fn state(&self, context: &RequestContext) -> Result<String, PageError> {
        let found = build::show_with_trace(context.app(), &context.actor, &self.project, self.id).await?;
        let abilities = Abilities::new(&found.project, &context.actor);
        let page = build_page(context.layout(), abilities, &found, context.now());
        Ok(format!("{}{}", respond::render(&page.as_live_head())?, respond::render(&page.as_live_rail())?))
    }
}

/// Returns the beginning of a text with at most this many lines.
fn first_lines(text: &[u8], count: usize) -> &[u8] {
    let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
    let end = count.checked_sub(1).and_then(|index| ends.nth(index));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_parts_are_sent_in_several_events() {
        assert_eq!(first_lines(b"a\nb\nc", 2), b"a\nb\n");
        assert_eq!(first_lines(b"a\nb\n", 2), b"a\nb\n");
        assert_eq!(first_lines(b"a\nb", 2), b"a\nb");
    }
}
