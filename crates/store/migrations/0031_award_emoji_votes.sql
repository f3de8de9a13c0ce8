-- Votes are counted from the emoji, by name: counters would be wrong after the deletion of a user. The columns `upvotes`
-- and `downvotes` of issues and merge requests remain for nodes of the previous version; nothing reads them.
create unique index award_emoji_issue_name_key on award_emoji (issue_id, name, user_id) where issue_id is not null;
create unique index award_emoji_merge_request_name_key on award_emoji (merge_request_id, name, user_id)
    where merge_request_id is not null;
create unique index award_emoji_note_name_key on award_emoji (note_id, name, user_id) where note_id is not null;
drop index award_emoji_issue_key, award_emoji_merge_request_key, award_emoji_note_key;
