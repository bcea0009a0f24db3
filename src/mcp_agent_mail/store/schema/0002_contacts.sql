-- Links are one-way: whether `source` may write to `target`. Only the target decides.
CREATE TABLE contacts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id INTEGER NOT NULL REFERENCES agents (id),
    target_id INTEGER NOT NULL REFERENCES agents (id),
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'blocked')),
    reason TEXT NOT NULL,                  -- of the request
    created_ts INTEGER NOT NULL,
    updated_ts INTEGER NOT NULL,
    expires_ts INTEGER,                    -- NULL: a denial stands until the target changes it
    UNIQUE (source_id, target_id)
) STRICT;

CREATE INDEX contacts_target ON contacts (target_id, id);

-- A recipient without a delivery number is held: it waits for the target's approval, or was refused.
ALTER TABLE recipients ADD COLUMN held_code TEXT;      -- why it was held; stays when it is delivered later
ALTER TABLE recipients ADD COLUMN refused_ts INTEGER;  -- when a denial returned it to the sender

CREATE INDEX recipients_held ON recipients (agent_id, message_id) WHERE delivery_seq IS NULL AND refused_ts IS NULL;
