-- Codes that let one new name into a project. The operator makes them and they are shown once.

CREATE TABLE join_codes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    code_hash BLOB NOT NULL UNIQUE,        -- SHA-256 of the code
    created_ts INTEGER NOT NULL,
    expires_ts INTEGER NOT NULL,
    used_ts INTEGER,
    agent_id INTEGER REFERENCES agents (id),   -- who came in with it
    CHECK ((used_ts IS NULL) = (agent_id IS NULL))
) STRICT;

CREATE INDEX join_codes_project ON join_codes (project_id, id);
CREATE INDEX join_codes_unused ON join_codes (expires_ts, id) WHERE used_ts IS NULL;
