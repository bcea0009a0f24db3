-- Links are one-way: whether `source` may write to `target`. Only the target decides.
CREATE TABLE contacts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id INTEGER NOT NULL REFERENCES agents (id),
    target_id INTEGER NOT NULL REFERENCES agents (id),
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'blocked')),
    reason TEXT NOT NULL,                  -- of the request
    created_ts INTEGER NOT NULL,
    updated_ts INTEGER NOT NULL,
    expires_ts INTEGER,                    -- NULL: a denial that stands; writing to the denied sender ends it
    UNIQUE (source_id, target_id)
) STRICT;

CREATE INDEX contacts_target ON contacts (target_id, id);

-- Denials that stand, by who denied: every send asks whether its sender has any, and most have none.
CREATE INDEX contacts_denied ON contacts (target_id, source_id) WHERE status = 'blocked' AND expires_ts IS NULL;

-- A recipient without a delivery number is held: it waits for the target's approval, or was refused.
ALTER TABLE recipients ADD COLUMN held_code TEXT;      -- why it was held; stays when it is delivered later
ALTER TABLE recipients ADD COLUMN refused_ts INTEGER;  -- when a denial returned it to the sender

CREATE INDEX recipients_held ON recipients (agent_id, message_id) WHERE delivery_seq IS NULL AND refused_ts IS NULL;

-- A message becomes mail of a project with the first copy that is delivered. Where that was an approval, newer mail
-- is there already: along the ids of a project's messages only the delivery times of the others never fall.
ALTER TABLE message_projects ADD COLUMN is_late INTEGER NOT NULL DEFAULT 0 CHECK (is_late IN (0, 1));

CREATE INDEX message_projects_late ON message_projects (project_id, delivered_ts) WHERE is_late = 1;
