/**
 * A table that shows row-level security at work: users read and write their own notes and no others.
 * Postgres' DDL, as it would run on a real project; @supabase/lite translates it for SQLite.
 */
export const notesSchema = `
create table public.notes (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references auth.users (id) on delete cascade,
  body text not null,
  created_at timestamptz not null default now()
);
alter table public.notes enable row level security;
create policy "read own notes" on public.notes for select to authenticated using (auth.uid() = user_id);
create policy "add own notes" on public.notes for insert to authenticated with check (auth.uid() = user_id);
create policy "delete own notes" on public.notes for delete to authenticated using (auth.uid() = user_id);
`;

/**
 * Gives every new user something to read. In SQLite's own words, because the schema migration of @supabase/lite 0.10 drops
 * triggers on the tables of the auth schema without a word.
 */
export const welcomeTrigger = `
create trigger if not exists welcome_new_user after insert on "auth.users" begin
  insert into notes (user_id, body) values
    (new.id, 'Welcome! This row came from the database, read with your own access token.'),
    (new.id, 'Row-level security compares auth.uid() with user_id: sign in as another user and these rows are gone.');
end
`;
