alter table todos add constraint todos_issue_id_fkey foreign key (issue_id) references issues on delete cascade;
