alter table award_emoji
    add constraint award_emoji_merge_request_id_fkey foreign key (merge_request_id) references merge_requests on delete cascade;
