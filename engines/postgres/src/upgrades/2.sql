-- The events of a task that no other index has: `board prune` removes them.
CREATE INDEX IF NOT EXISTS events_noise ON task_events (task_id) WHERE kind IN ({rest});
