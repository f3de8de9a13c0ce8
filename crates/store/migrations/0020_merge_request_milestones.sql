alter table merge_requests
    add constraint merge_requests_milestone_id_fkey foreign key (milestone_id) references milestones on delete set null;
