-- What clients' hooks have told agents of their mail: a message at most once in each session of a client.

CREATE TABLE hook_sessions (
    id INTEGER PRIMARY KEY,
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    session_hash BLOB NOT NULL,                 -- SHA-256 of the name that the client gives its session
    is_proven INTEGER NOT NULL CHECK (is_proven IN (0, 1)),  -- heard with a token; the hash is another then
    last_ts INTEGER NOT NULL,                   -- when it was last given something; never falls within an agent
    passed_seq INTEGER NOT NULL DEFAULT 0       -- what was delivered up to this number is told no more
) STRICT;

CREATE UNIQUE INDEX hook_sessions_name ON hook_sessions (agent_id, session_hash);
CREATE INDEX hook_sessions_last ON hook_sessions (agent_id, is_proven, last_ts, id);

CREATE TABLE announcements (
    session_id INTEGER NOT NULL REFERENCES hook_sessions (id),
    message_id INTEGER NOT NULL REFERENCES messages (id),
    delivery_seq INTEGER NOT NULL,              -- the copy's
    claim TEXT NOT NULL,                        -- by which the hook confirms that it has printed what it was given
    given_ts INTEGER NOT NULL,
    told_ts INTEGER,                            -- confirmed
    shown_ts INTEGER,                           -- a later event of the session proves that the client got the print
    PRIMARY KEY (session_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX announcements_seq ON announcements (delivery_seq, session_id);
CREATE INDEX announcements_told ON announcements (session_id) WHERE told_ts IS NOT NULL AND shown_ts IS NULL;

-- Whether its sender had proven to be it. Of what was sent before nobody knows.
ALTER TABLE messages ADD COLUMN is_verified INTEGER NOT NULL DEFAULT 0 CHECK (is_verified IN (0, 1));
