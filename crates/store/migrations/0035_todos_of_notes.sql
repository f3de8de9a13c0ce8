alter table todos add constraint todos_note_id_fkey foreign key (note_id) references notes on delete cascade;
