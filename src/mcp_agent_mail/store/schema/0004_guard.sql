-- What the guard did in code repositories: refusals, warnings, bypasses and its own failures. The newest are kept.
CREATE TABLE guard_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER REFERENCES projects (id),  -- NULL: no project had the key that the guard sent
    project TEXT NOT NULL,                 -- that key
    event_key TEXT NOT NULL UNIQUE,        -- the guard's own random name for it: a repeat is stored once
    ts INTEGER NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('refused', 'warned', 'bypassed', 'failed')),
    hook TEXT NOT NULL,                    -- pre-commit, pre-push, check
    agent TEXT,                            -- who committed, as the guard knew it
    repository TEXT NOT NULL,
    detail TEXT NOT NULL                   -- JSON: paths, holders, what was said
) STRICT;

CREATE INDEX guard_events_project ON guard_events (project_id, ts DESC, id DESC);
CREATE INDEX guard_events_newest ON guard_events (ts DESC, id DESC);
