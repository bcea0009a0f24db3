-- Doors: other systems' ways to this mail. What their users call agents and messages, and what they were given last.

CREATE TABLE wire_names (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    name TEXT NOT NULL,                         -- as it was first written
    name_key TEXT NOT NULL,
    owner TEXT CHECK (owner IN ('postal', 'agentmail', 'claude-mailbox')),  -- the door whose callers speak as it
    created_ts INTEGER NOT NULL,
    UNIQUE (project_id, name_key)
) STRICT;

CREATE INDEX wire_names_agent ON wire_names (agent_id, id);

-- Doors that the operator let speak as a name beside its owner.
CREATE TABLE wire_name_doors (
    wire_name_id INTEGER NOT NULL REFERENCES wire_names (id),
    door TEXT NOT NULL CHECK (door IN ('postal', 'agentmail', 'claude-mailbox')),
    PRIMARY KEY (wire_name_id, door)
) STRICT, WITHOUT ROWID;

-- What came in by a door, and what the door calls it.
CREATE TABLE wire_ids (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id),
    door TEXT NOT NULL CHECK (door IN ('postal', 'agentmail', 'claude-mailbox')),
    external_id TEXT NOT NULL,
    sender_id INTEGER NOT NULL REFERENCES agents (id),
    recipient_id INTEGER NOT NULL REFERENCES agents (id),
    answers INTEGER NOT NULL,                   -- id of the message of the same id that it answers, 0 for none
    body_hash BLOB NOT NULL                     -- SHA-256: a repeat has the same
) STRICT;

CREATE UNIQUE INDEX wire_ids_place ON wire_ids (door, external_id, sender_id, recipient_id, answers);
CREATE INDEX wire_ids_newest ON wire_ids (door, external_id, sender_id, recipient_id, message_id);

-- Given to a caller of a door whose answer is not known to be written: nobody else gets it at a door meanwhile.
CREATE TABLE pops (
    message_id INTEGER NOT NULL REFERENCES messages (id),
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    door TEXT NOT NULL CHECK (door IN ('postal', 'agentmail', 'claude-mailbox')),
    popped_ts INTEGER NOT NULL,
    PRIMARY KEY (message_id, agent_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX pops_agent ON pops (agent_id, message_id);
