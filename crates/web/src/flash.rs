//! Messages about the action that led to a page. A message travels as a code in a short-lived cookie: any node shows
//! it, and no link can make a page show a text of its author.

use axum_extra::extract::cookie::Cookie;
use holdfast_domain::InstanceUrls;

use crate::cookies;
use crate::layout::Flash;

/// How long the message waits for the page that shows it.
const FLASH_SECONDS: i64 = 60;

macro_rules! messages {
    ($($Variant:ident = $code:literal, $kind:literal, $text:literal;)+) => {
        /// A message about an action, shown on the page that follows it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FlashCode { $($Variant),+ }

        impl FlashCode {
            pub const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// Returns the code in the cookie.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$Variant => $code),+ }
            }

            const fn message(self) -> (&'static str, &'static str) {
                match self { $(Self::$Variant => ($kind, $text)),+ }
            }
        }
    };
}

messages! {
    RefRestored = "ref_restored", "ok", "The ref was restored to its earlier value.";
    RefUpdateMissing = "ref_update_missing", "bad", "The ref log has no such update.";
    ImportCanceled = "import_canceled", "ok", "The import was canceled.";
    ImportMissing = "import_missing", "bad", "No import is running.";
    SignedOut = "signed_out", "ok", "You are signed out.";
    IssueCreated = "issue_created", "ok", "The issue was created.";
    IssueSaved = "issue_saved", "ok", "The issue was saved.";
    IssueClosed = "issue_closed", "ok", "The issue was closed.";
    IssueReopened = "issue_reopened", "ok", "The issue was reopened.";
    IssueDeleted = "issue_deleted", "ok", "The issue was deleted.";
    IssueMoved = "issue_moved", "ok", "The issue was moved to this project.";
    IssueSubscribed = "issue_subscribed", "ok", "You are subscribed to the issue.";
    IssueUnsubscribed = "issue_unsubscribed", "ok", "You are not subscribed to the issue any more.";
    IssuesChanged = "issues_changed", "ok", "The selected issues were changed.";
    IssuesSkipped = "issues_skipped", "bad", "Some of the selected issues were not changed: they do not exist any more, or the change is not valid for them.";
    IssuesNotSelected = "issues_not_selected", "bad", "Nothing was changed. Select issues and choose what to change.";
    IssuesTooMany = "issues_too_many", "bad", "Nothing was changed. At most 100 issues can be changed at once.";
    IssueLabelRejected = "issue_label_rejected", "bad", "Nothing was changed. Choose a label.";
    IssueAssigneeRejected = "issue_assignee_rejected", "bad", "Nothing was changed. The user does not exist or cannot see the project.";
    IssueMilestoneRejected = "issue_milestone_rejected", "bad", "Nothing was changed. The milestone does not exist.";
    IssueDueRejected = "issue_due_rejected", "bad", "Nothing was changed. The date is invalid.";
    IssueChangeForbidden = "issue_change_forbidden", "bad", "Nothing was changed. You may not make this change.";
    IssueChangeRejected = "issue_change_rejected", "bad", "Nothing was changed. The value of a quick action is invalid.";
    SomeActionsRefused = "some_actions_refused", "bad", "The issue was saved. Some quick actions were refused: you may not make these changes, or their values are invalid.";
    NoteAdded = "note_added", "ok", "The comment was added.";
    NoteSaved = "note_saved", "ok", "The comment was saved.";
    NoteDeleted = "note_deleted", "ok", "The comment was deleted.";
    LabelActionRefused = "label_action_refused", "bad", "The text was saved. /label or /unlabel was refused: you may not label issues, or a title is invalid.";
    AssignActionRefused = "assign_action_refused", "bad", "The text was saved. /assign or /unassign was refused: you may not assign issues, or the user cannot see the project.";
    MilestoneActionRefused = "milestone_action_refused", "bad", "The text was saved. /milestone was refused: you may not set it, or the milestone does not exist.";
    DueActionRefused = "due_action_refused", "bad", "The text was saved. /due was refused: you may not edit the issue, or the date is invalid.";
    StateActionRefused = "state_action_refused", "bad", "The text was saved. The issue was not closed or reopened: you may not edit it.";
    ConfidentialActionRefused = "confidential_action_refused", "bad", "The text was saved. /confidential was refused: you may not edit the issue.";
    ActionsRefused = "actions_refused", "bad", "The text was saved. Several quick actions were refused: you may not make these changes, or their values are invalid.";
    MergeRequestCreated = "merge_request_created", "ok", "The merge request was created.";
    MergeRequestSaved = "merge_request_saved", "ok", "The merge request was saved.";
    MergeRequestMerged = "merge_request_merged", "ok", "The merge request was merged.";
    MergeWaits = "merge_waits", "ok", "The merge request will be merged when its pipeline succeeds.";
    MergeCanceled = "merge_canceled", "ok", "The merge request does not wait for its pipeline any more.";
    MergeBlocked = "merge_blocked", "bad", "Nothing was merged. The page lists what keeps it from being merged.";
    MergeConflicts = "merge_conflicts", "bad", "Nothing was merged. The branches have conflicts, which the page lists.";
    MergeForbidden = "merge_forbidden", "bad", "Nothing was changed. You may not merge into the target branch.";
    MergeRequestChanged = "merge_request_changed", "bad", "Nothing was changed. There are new commits, another target branch, or another open merge request for the same branches. Look at the page again.";
    MergeRequestClosed = "merge_request_closed", "ok", "The merge request was closed.";
    MergeRequestReopened = "merge_request_reopened", "ok", "The merge request was reopened.";
    MergeRequestNotReopened = "merge_request_not_reopened", "bad", "The comment was saved. The merge request was not reopened: another one for the same branches is open.";
    MergeRequestSubscribed = "merge_request_subscribed", "ok", "You are subscribed to the merge request.";
    MergeRequestUnsubscribed = "merge_request_unsubscribed", "ok", "You are not subscribed to the merge request any more.";
    DiscussionResolved = "discussion_resolved", "ok", "The discussion was resolved.";
    DiscussionReopened = "discussion_reopened", "ok", "The discussion is not resolved any more.";
    DraftAdded = "draft_added", "ok", "The comment was added to your review. Only you see it until you submit the review.";
    DraftSaved = "draft_saved", "ok", "The comment of your review was saved.";
    DraftRejected = "draft_rejected", "bad", "The comment of your review was not saved: its text is empty or too long.";
    DraftDeleted = "draft_deleted", "ok", "The comment of your review was deleted.";
    ReviewSubmitted = "review_submitted", "ok", "Your review was submitted.";
    ReviewEmpty = "review_empty", "bad", "Nothing was submitted: the review has no comments and no summary.";
    ReviewDiscarded = "review_discarded", "ok", "The comments of your review were deleted.";
    TodoCompleted = "todo_completed", "ok", "The todo is done.";
    TodosCompleted = "todos_completed", "ok", "All todos are done.";
    PipelineCreated = "pipeline_created", "ok", "The pipeline was created.";
    PipelineRetried = "pipeline_retried", "ok", "The failed and canceled builds run again.";
    PipelineCanceled = "pipeline_canceled", "ok", "The pipeline was canceled.";
    BuildRetried = "build_retried", "ok", "The build runs again. This is the new build.";
    BuildCanceled = "build_canceled", "ok", "The build was canceled.";
    BuildStarted = "build_started", "ok", "The build was started.";
    BuildErased = "build_erased", "ok", "The trace and the artifacts were erased.";
    ArtifactsKept = "artifacts_kept", "ok", "The artifacts are kept.";
    ProfileSaved = "profile_saved", "ok", "Your profile was saved.";
    SessionEnded = "session_ended", "ok", "The session was ended.";
    OtherSessionsEnded = "other_sessions_ended", "ok", "All other sessions were ended.";
    FileCommitted = "file_committed", "ok", "The change was committed.";
    FileCommittedToNewBranch = "file_committed_to_new_branch", "ok", "The change was committed to a new branch.";
    BranchCreated = "branch_created", "ok", "The branch was created.";
    BranchDeleted = "branch_deleted", "ok", "The branch was deleted.";
    BranchProtected = "branch_protected", "ok", "The branch is protected.";
    BranchUnprotected = "branch_unprotected", "ok", "The branch is not protected any more.";
    BranchStillProtected = "branch_still_protected", "bad", "The branch is still protected by a rule for several branches.";
    MergedBranchesDeleted = "merged_branches_deleted", "ok", "The merged branches are being deleted.";
    TagCreated = "tag_created", "ok", "The tag was created.";
    TagDeleted = "tag_deleted", "ok", "The tag was deleted.";
    ReleaseSaved = "release_saved", "ok", "The release notes were saved.";
    ProjectForked = "project_forked", "ok", "The fork was created.";
    CardMoved = "card_moved", "ok", "The issue was moved.";
    BoardListsAdded = "board_lists_added", "ok", "The lists were added.";
    BoardListMoved = "board_list_moved", "ok", "The list was moved.";
    BoardListDeleted = "board_list_deleted", "ok", "The list was deleted. Its issues keep their label.";
    LabelCreated = "label_created", "ok", "The label was created.";
    LabelSaved = "label_saved", "ok", "The label was saved.";
    LabelDeleted = "label_deleted", "ok", "The label was deleted.";
    LabelSubscribed = "label_subscribed", "ok", "You are subscribed to the label.";
    LabelUnsubscribed = "label_unsubscribed", "ok", "You are not subscribed to the label any more.";
    DefaultLabelsCreated = "default_labels_created", "ok", "The labels were created.";
    MilestoneCreated = "milestone_created", "ok", "The milestone was created.";
    MilestoneSaved = "milestone_saved", "ok", "The milestone was saved.";
    MilestoneClosed = "milestone_closed", "ok", "The milestone was closed.";
    MilestoneReopened = "milestone_reopened", "ok", "The milestone was reopened.";
    PasswordChanged = "password_changed", "ok", "Your password was changed, and all other sessions were ended.";
    EmailAdded = "email_added", "ok", "The address was added.";
    EmailDeleted = "email_deleted", "ok", "The address was deleted.";
    KeyAdded = "key_added", "ok", "The SSH key was added.";
    KeyDeleted = "key_deleted", "ok", "The SSH key was deleted.";
    VariableCreated = "variable_created", "ok", "The variable was created.";
    VariableSaved = "variable_saved", "ok", "The variable was saved.";
    VariableDeleted = "variable_deleted", "ok", "The variable was deleted.";
    TriggerSaved = "trigger_saved", "ok", "The trigger was saved.";
    TriggerDeleted = "trigger_deleted", "ok", "The trigger was deleted.";
    RunnerSaved = "runner_saved", "ok", "The runner was saved.";
    RunnerPaused = "runner_paused", "ok", "The runner is paused. It gets no new builds.";
    RunnerResumed = "runner_resumed", "ok", "The runner gets builds again.";
    RunnerEnabled = "runner_enabled", "ok", "The runner is enabled for the project.";
    RunnerDisabled = "runner_disabled", "ok", "The runner is disabled for the project.";
    RunnerDeleted = "runner_deleted", "ok", "The runner was deleted.";
    RunnerTokenReset = "runner_token_reset", "ok", "The registration token was replaced.";
    JobTokenAllowed = "job_token_allowed", "ok", "Builds of the project may read this project.";
    JobTokenDisallowed = "job_token_disallowed", "ok", "The project was removed from the list.";
    TokenRevoked = "token_revoked", "ok", "The token was revoked.";
    ProjectCreated = "project_created", "ok", "The project was created.";
    ImportStarted = "import_started", "ok", "The project was created. Its repository is being imported.";
    HookCreated = "hook_created", "ok", "The webhook was created. Send a sample event to test it.";
    HookSaved = "hook_saved", "ok", "The webhook was saved. Pending deliveries are sent at once.";
    HookDeleted = "hook_deleted", "ok", "The webhook was deleted with its deliveries.";
    HookTested = "hook_tested", "ok", "The sample event was queued. Reload the page to see the result of its delivery.";
    DeliveryReplayed = "delivery_replayed", "ok", "The delivery was queued again, behind all pending ones.";
    DeliveriesResumed = "deliveries_resumed", "ok", "Deliveries continue from the chosen one, at once.";
    BranchRuleCreated = "branch_rule_created", "ok", "The branch is protected.";
    BranchRuleSaved = "branch_rule_saved", "ok", "The rule was saved.";
    BranchRuleDeleted = "branch_rule_deleted", "ok", "The rule was removed.";
    TagRuleCreated = "tag_rule_created", "ok", "The tags are protected.";
    TagRuleDeleted = "tag_rule_deleted", "ok", "The rule was removed.";
    DeployKeyAdded = "deploy_key_added", "ok", "The deploy key was added.";
    DeployKeySaved = "deploy_key_saved", "ok", "The deploy key was saved.";
    DeployKeyRemoved = "deploy_key_removed", "ok", "The deploy key was removed.";
    SettingsSaved = "settings_saved", "ok", "The settings were saved.";
    ProjectArchived = "project_archived", "ok", "The project was archived.";
    ProjectUnarchived = "project_unarchived", "ok", "The project is no longer archived.";
    ProjectTransferred = "project_transferred", "ok", "The project was transferred. Its old address leads to the new one.";
    ProjectDeleted = "project_deleted", "ok", "The project was deleted.";
    ProjectShared = "project_shared", "ok", "The project was shared with the group.";
    ProjectUnshared = "project_unshared", "ok", "The project is no longer shared with the group.";
    ShareMissing = "share_missing", "bad", "Nothing was changed. The project is not shared with this group any more.";
    MemberAdded = "member_added", "ok", "The member was added.";
    MemberSaved = "member_saved", "ok", "The membership was saved.";
    MemberRemoved = "member_removed", "ok", "The member was removed.";
    MembershipLeft = "membership_left", "ok", "You have left. You are no longer a direct member.";
    MembershipKept = "membership_kept", "bad", "Nothing was changed. You are not a direct member, or the page was shown to another user.";
    AccessRequested = "access_requested", "ok", "You have requested access. Those who manage the members decide about it.";
    AccessNotRequested = "access_not_requested", "bad", "Nothing was changed. You are a member already, or access cannot be requested here.";
    AccessRequestWithdrawn = "access_request_withdrawn", "ok", "Your request for access was withdrawn.";
    AccessRequestApproved = "access_request_approved", "ok", "The request was approved. The user is a member now.";
    AccessRequestDeclined = "access_request_declined", "ok", "The request was declined.";
    AccessRequestMissing = "access_request_missing", "bad", "Nothing was changed. The request was decided or withdrawn already.";
    GroupDeleted = "group_deleted", "ok", "The group and its projects were deleted.";
    GroupCreated = "group_created", "ok", "The group was created.";
    UserCreated = "user_created", "ok", "The user was created.";
    UserSaved = "user_saved", "ok", "The user was saved.";
    UserBlocked = "user_blocked", "ok", "The user was blocked and signed out of all browsers.";
    UserUnblocked = "user_unblocked", "ok", "The user is not blocked any more.";
    UserPasswordSet = "user_password_set", "ok", "The password was set, and all sessions of the user were ended.";
    UserDeleted = "user_deleted", "ok", "The user was deleted.";
    UserOwnsGroups = "user_owns_groups", "bad", "The user was not deleted: there are groups that no other user owns.";
    JobRetried = "job_retried", "ok", "The job will run again now.";
    JobNotRetried = "job_not_retried", "bad", "The job has finished or does not exist any more.";
    MaintenanceRequested = "maintenance_requested", "ok", "The maintenance of the repository was requested. It runs in the background.";
    InstanceSetUp = "instance_set_up", "ok", "Your account was created. Create the first project now.";
    PreferencesSaved = "preferences_saved", "ok", "The preferences were saved in this browser.";
}

impl FlashCode {
    pub fn from_str_opt(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|flash| flash.as_str() == code)
    }

    /// Returns the message as the layout shows it.
    pub fn flash(self) -> Flash {
        let (kind, text) = self.message();
        Flash { kind, text: text.to_owned() }
    }

    /// Returns the cookie that carries the code to the next page.
    pub fn cookie(self, site: &InstanceUrls) -> Cookie<'static> {
        cookies::new(site, cookies::FLASH, self.as_str().to_owned(), Some(FLASH_SECONDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_read_back() {
        for flash in FlashCode::ALL {
            assert_eq!(FlashCode::from_str_opt(flash.as_str()), Some(*flash));
        }
        assert_eq!(FlashCode::from_str_opt("<script>"), None);
    }
}
