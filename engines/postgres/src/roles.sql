-- {schema}_work is for workers: it cannot change or delete events and comments, delete tasks or attempts, drop, truncate, or speak for a host.
-- {schema}_watch is for the watchers. Both are given to login roles; an owner makes the board.
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{schema}_work') THEN CREATE ROLE {schema}_work NOLOGIN; END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{schema}_watch') THEN
    CREATE ROLE {schema}_watch NOLOGIN IN ROLE {schema}_work;
  END IF;
END $$;
SET LOCAL search_path = "{schema}";
GRANT USAGE ON SCHEMA "{schema}" TO {schema}_work;
GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {schema}_work;
GRANT INSERT, UPDATE ON tasks, task_runs TO {schema}_work;
GRANT INSERT ON task_events, task_comments, writes TO {schema}_work;
GRANT UPDATE (outcomes) ON writes TO {schema}_work;
GRANT INSERT, DELETE ON task_links TO {schema}_work;
GRANT INSERT, UPDATE ON hosts, epochs TO {schema}_watch;
GRANT UPDATE (paused_since, paused_until, paused_why, paused_by) ON meta TO {schema}_watch;
GRANT DELETE ON writes TO {schema}_watch;
