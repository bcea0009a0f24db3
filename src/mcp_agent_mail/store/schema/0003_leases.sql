-- Leases of files (reservations) and of build slots: one primitive. Expiry takes effect at the instant, whoever sweeps.
-- 'leases_ended' counts ends, so that whoever waits for one can see that there was one.
INSERT INTO counters (name, value) VALUES ('fencing', 0), ('leases_ended', 0);

CREATE TABLE leases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    kind TEXT NOT NULL CHECK (kind IN ('file', 'slot')),
    path_pattern TEXT NOT NULL,            -- normalised; of a slot its name
    is_folder INTEGER NOT NULL CHECK (is_folder IN (0, 1)),        -- the workspace had a folder of this name
    ignore_case INTEGER NOT NULL CHECK (ignore_case IN (0, 1)),    -- the repository's core.ignorecase
    anchor TEXT NOT NULL,                  -- small letters: the literal folder its pattern begins with; of a slot its name
    tail TEXT NOT NULL,                    -- small letters: what every path that the pattern matches ends in
    exclusive INTEGER NOT NULL CHECK (exclusive IN (0, 1)),
    reason TEXT NOT NULL,
    branch TEXT,
    created_ts INTEGER NOT NULL,
    expires_ts INTEGER NOT NULL,
    released_ts INTEGER,                   -- when it ended: released, swept, forced, or its expiry once that was seen
    ended_by TEXT CHECK (ended_by IN ('release', 'expiry', 'idle', 'force', 'retirement')),
    evidence TEXT,                         -- JSON: what its end rests on, when another than the holder ended it
    fencing INTEGER NOT NULL UNIQUE        -- rises with every grant of the store, and never falls
) STRICT;

CREATE INDEX leases_live ON leases (project_id, kind, id) WHERE released_ts IS NULL;
CREATE INDEX leases_keys ON leases (project_id, kind, anchor, tail, exclusive) WHERE released_ts IS NULL;
CREATE INDEX leases_of_agent ON leases (agent_id, id) WHERE released_ts IS NULL;
CREATE INDEX leases_expiry ON leases (expires_ts) WHERE released_ts IS NULL;
CREATE INDEX leases_lapsed ON leases (agent_id, expires_ts) WHERE ended_by = 'expiry';
CREATE INDEX leases_of_project ON leases (project_id, kind, id);
