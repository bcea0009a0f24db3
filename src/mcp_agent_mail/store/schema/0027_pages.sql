-- What the pages for people need: sessions of browsers, and walks over the mail of all projects.

-- What a browser keeps is hashed here; a row whose session has ended is removed in time.
CREATE TABLE web_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    secret_hash BLOB NOT NULL UNIQUE,           -- SHA-256 of what the cookie holds
    opened_by TEXT NOT NULL CHECK (opened_by IN ('link', 'operator', 'server', 'issued', 'jwt')),
    role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'operator')),
    issued_token_id INTEGER,                    -- no key of issued_tokens: tokens are forgotten first
    issued_to INTEGER REFERENCES agents (id),   -- whom the token proves
    claimed_agents TEXT NOT NULL,               -- JSON list of names that a JWT says
    server_token_hash BLOB,
    created_ts INTEGER NOT NULL,
    used_ts INTEGER NOT NULL,
    expires_ts INTEGER                          -- the token's own end
) STRICT;

CREATE INDEX web_sessions_used ON web_sessions (used_ts, id);

CREATE INDEX messages_system ON messages (id) WHERE is_system = 1;
CREATE INDEX contacts_pending ON contacts (id) WHERE status = 'pending';
