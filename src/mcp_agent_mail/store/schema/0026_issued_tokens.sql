-- Tokens that the operator issues: they open the server, and prove the agent that they are of. Each is shown once.

CREATE TABLE issued_tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token_hash BLOB NOT NULL UNIQUE,            -- SHA-256 of the token
    role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'operator')),
    agent_id INTEGER REFERENCES agents (id),    -- whom it proves
    note TEXT NOT NULL,
    created_ts INTEGER NOT NULL,
    expires_ts INTEGER,
    revoked_ts INTEGER,
    last_used_ts INTEGER,
    CHECK (agent_id IS NULL OR role <> 'operator')
) STRICT;

CREATE INDEX issued_tokens_agent ON issued_tokens (agent_id) WHERE agent_id IS NOT NULL;
