-- The tables of version 1, as `board init` made them. {schema} is the name of the board.
CREATE SCHEMA "{schema}";
SET LOCAL search_path = "{schema}";

CREATE TABLE meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  application text NOT NULL DEFAULT 'WBIL',
  version int NOT NULL,                 -- shape of the tables
  min_reader int NOT NULL,              -- oldest shape whose programs may read
  min_writer int NOT NULL,              -- oldest shape whose programs may write
  board uuid NOT NULL DEFAULT gen_random_uuid(),
  made_at bigint NOT NULL,
  paused_since bigint, paused_until bigint, paused_why text, paused_by text
);

-- clock_timestamp and not now(): a transaction may begin and then wait.
CREATE FUNCTION now_s() RETURNS bigint LANGUAGE sql VOLATILE
  RETURN floor(extract(epoch FROM clock_timestamp()))::bigint;

CREATE TABLE tasks (
  id text COLLATE "C" PRIMARY KEY, title text NOT NULL, body text, assignee text COLLATE "C",
  status text COLLATE "C" NOT NULL, priority bigint NOT NULL DEFAULT 0, created_by text,
  created_at bigint NOT NULL, started_at bigint, completed_at bigint,
  workspace_kind text NOT NULL DEFAULT 'scratch', workspace_path text, branch_name text, tenant text,
  result text, idempotency_key text COLLATE "C",
  claim_lock text COLLATE "C", claim_expires bigint, worker_pid bigint,
  last_heartbeat_at bigint, current_run_id bigint,
  consecutive_failures bigint NOT NULL DEFAULT 0, last_failure_error text, max_retries bigint,
  max_runtime_seconds bigint, model_override text, provider_override text,
  block_kind text, block_recurrences bigint NOT NULL DEFAULT 0,
  mark bigint NOT NULL DEFAULT 0        -- counts what was said about it, without noise; see the trigger
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);

CREATE TABLE task_links (
  parent_id text COLLATE "C" NOT NULL REFERENCES tasks, child_id text COLLATE "C" NOT NULL REFERENCES tasks,
  PRIMARY KEY (parent_id, child_id), CHECK (parent_id <> child_id));
-- Without foreign keys: each would lock the task's row once more for nothing.
CREATE TABLE task_comments (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task_id text COLLATE "C" NOT NULL, author text NOT NULL,
  body text NOT NULL, created_at bigint NOT NULL);
CREATE TABLE task_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task_id text COLLATE "C" NOT NULL, run_id bigint,
  kind text COLLATE "C" NOT NULL, payload text, created_at bigint NOT NULL,
  tx xid8 NOT NULL DEFAULT pg_current_xact_id());
CREATE TABLE task_runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task_id text COLLATE "C" NOT NULL, profile text,
  status text COLLATE "C" NOT NULL, claim_lock text, claim_expires bigint, worker_pid bigint,
  max_runtime_seconds bigint, last_heartbeat_at bigint, started_at bigint NOT NULL, ended_at bigint,
  outcome text, summary text, metadata text, error text
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);

-- Which hosts work on the board. A name is of one machine: hostname and a part of its machine id, or what its operator called it.
CREATE TABLE hosts (
  name text COLLATE "C" PRIMARY KEY, boot_id text NOT NULL, program text NOT NULL,
  since bigint NOT NULL, seen_at bigint NOT NULL, lease_until bigint NOT NULL, healed_at bigint,
  skew_ms bigint NOT NULL DEFAULT 0, forgotten_at bigint
) WITH (fillfactor = 50);
-- How often each watcher decided for the whole board, and which host did so last; and which host tells a target of `notify` (epochs.rs).
CREATE TABLE epochs (program text PRIMARY KEY, n bigint NOT NULL DEFAULT 0, host text, at bigint)
  WITH (fillfactor = 20);
-- One row for each part that was committed: what became of it is read here when the answer was lost.
CREATE TABLE writes (id uuid PRIMARY KEY, at bigint NOT NULL, host text NOT NULL, outcomes text);

CREATE INDEX tasks_status ON tasks (status, priority DESC, created_at, id);
CREATE INDEX tasks_next ON tasks (assignee, priority DESC, created_at, id)
  WHERE status = 'ready' AND claim_lock IS NULL;
CREATE UNIQUE INDEX tasks_key ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL AND status <> 'archived';
CREATE INDEX tasks_cards ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX tasks_held ON tasks (claim_expires) WHERE claim_lock IS NOT NULL;
CREATE INDEX links_child ON task_links (child_id, parent_id);
CREATE INDEX comments_task ON task_comments (task_id, created_at DESC, id DESC);
CREATE INDEX comments_marker ON task_comments (task_id, created_at DESC, id DESC)
  WHERE lower(left(body, 10) COLLATE "C") = 'watchbill:';
CREATE INDEX events_task ON task_events (task_id, created_at DESC, id DESC) WHERE kind NOT IN ('heartbeat', 'claim_extended', 'respawn_guarded', 'reclaim_deferred');
CREATE INDEX events_task_turns ON task_events (task_id, created_at DESC, id DESC) WHERE kind IN ('assigned', 'unblocked', 'scheduled', 'created', 'linked', 'blocked', 'gave_up', 'watchbill_signal', 'watchbill_undone', 'model_override_set', 'coord.spawned', 'coord.aborted');
CREATE INDEX events_beats ON task_events (task_id, created_at DESC, id DESC) WHERE kind = 'heartbeat';
CREATE INDEX events_turns ON task_events (id DESC) WHERE kind IN ('assigned', 'unblocked', 'scheduled', 'created', 'linked', 'blocked', 'gave_up', 'watchbill_signal', 'watchbill_undone', 'model_override_set', 'coord.spawned', 'coord.aborted');
CREATE INDEX events_session ON task_events (tx, id) WHERE kind IN ('coord.spawned', 'coord.messaged', 'coord.notified', 'coord.aborted', 'coord.detection');
CREATE INDEX runs_task ON task_runs (task_id, started_at DESC, id DESC);
CREATE INDEX runs_end ON task_runs (task_id, ended_at);
-- The last line, whatever a program does: no task has two open runs.
CREATE UNIQUE INDEX runs_one_open ON task_runs (task_id) WHERE ended_at IS NULL;
CREATE INDEX writes_at ON writes (at);

-- The mark is no number of a sequence: those become visible out of order. It takes the lock of the task's row, whoever writes.
CREATE FUNCTION said() RETURNS trigger LANGUAGE plpgsql SET search_path = "{schema}" AS $$
BEGIN
  UPDATE tasks SET mark = mark + 1 WHERE id = NEW.task_id;
  RETURN NULL;
END $$;
CREATE TRIGGER said AFTER INSERT ON task_events FOR EACH ROW
  WHEN (NEW.kind NOT IN ('heartbeat', 'claim_extended', 'respawn_guarded', 'reclaim_deferred')) EXECUTE FUNCTION said();

INSERT INTO meta (version, min_reader, min_writer, made_at) VALUES (1, 1, 1, now_s());
INSERT INTO epochs (program) VALUES ('heal'), ('synthesize-distress'), ('route-blocked'), ('budget-check');
