-- Times are microseconds since the epoch, UTC. Ids are never used again (AUTOINCREMENT).

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per counter. 'delivery' orders every inbox: it is drawn when mail becomes deliverable.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- 'delivered_ts' is the latest delivery time: delivery times never run backwards, whatever the clock does.
INSERT INTO counters (name, value) VALUES ('delivery', 0), ('delivered_ts', 0);

CREATE TABLE projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    slug TEXT NOT NULL UNIQUE,
    human_key TEXT NOT NULL UNIQUE,
    plain_slug TEXT NOT NULL,              -- the path as a plain slug: a convenience key while one project alone has it
    created_ts INTEGER NOT NULL,
    archived_ts INTEGER
) STRICT;

CREATE INDEX projects_plain_slug ON projects (plain_slug);

CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    kind TEXT NOT NULL CHECK (kind IN ('agent', 'human', 'system')),
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,                -- the name, lower case: names are unique ignoring case
    program TEXT NOT NULL,
    model TEXT NOT NULL,
    task_description TEXT NOT NULL,
    inception_ts INTEGER NOT NULL,
    last_active_ts INTEGER NOT NULL,
    profiled_ts INTEGER NOT NULL,          -- last change of the profile: the activity its archived profile shows
    contact_policy TEXT NOT NULL DEFAULT 'auto',
    attachments_policy TEXT NOT NULL DEFAULT 'auto',
    status TEXT NOT NULL DEFAULT 'ready',
    status_note TEXT,
    status_ts INTEGER,
    retired_ts INTEGER,
    token_hash BLOB UNIQUE,                -- SHA-256 of the registration token
    unread_count INTEGER NOT NULL DEFAULT 0 CHECK (unread_count >= 0),
    UNIQUE (project_id, name_key)
) STRICT;

CREATE INDEX agents_name_key ON agents (name_key, project_id);
CREATE INDEX agents_last_active ON agents (project_id, last_active_ts DESC, id DESC);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),   -- the sender's project
    sender_id INTEGER NOT NULL REFERENCES agents (id),
    thread_id TEXT,
    topic TEXT COLLATE NOCASE,
    subject TEXT NOT NULL,
    importance TEXT NOT NULL CHECK (importance IN ('low', 'normal', 'high', 'urgent')),
    ack_required INTEGER NOT NULL CHECK (ack_required IN (0, 1)),
    created_ts INTEGER NOT NULL,
    reply_to INTEGER REFERENCES messages (id),
    is_system INTEGER NOT NULL DEFAULT 0 CHECK (is_system IN (0, 1)),
    scope TEXT NOT NULL,                   -- 'p<id>' of every project openly involved, 'b<agent id>' of blind recipients elsewhere
    body_bytes INTEGER NOT NULL,           -- length of the body in UTF-8
    body_md TEXT NOT NULL                  -- last, so that lists never walk its overflow pages
) STRICT;

CREATE INDEX messages_sender ON messages (sender_id, id);
CREATE INDEX messages_reply_to ON messages (reply_to) WHERE reply_to IS NOT NULL;

-- Where a message is project mail: the sender's project and those of its `to` and `cc` recipients.
-- A project that only blind recipients belong to has no row: its other agents never learn of the message.
CREATE TABLE message_projects (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    message_id INTEGER NOT NULL REFERENCES messages (id),
    delivered_ts INTEGER NOT NULL,
    thread_id TEXT,
    topic TEXT COLLATE NOCASE,
    PRIMARY KEY (project_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_projects_thread ON message_projects (thread_id, project_id, message_id) WHERE thread_id IS NOT NULL;
CREATE INDEX message_projects_topic ON message_projects (project_id, topic, message_id) WHERE topic IS NOT NULL;

CREATE TABLE recipients (
    message_id INTEGER NOT NULL REFERENCES messages (id),
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    kind TEXT NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
    position INTEGER NOT NULL,             -- order within the message, as addressed
    delivery_seq INTEGER,                  -- NULL while not deliverable
    delivered_ts INTEGER,
    read_ts INTEGER,
    ack_ts INTEGER,
    urgent INTEGER NOT NULL CHECK (urgent IN (0, 1)),             -- importance is high or urgent
    ack_required INTEGER NOT NULL CHECK (ack_required IN (0, 1)),
    thread_id TEXT,                        -- the message's, for the inbox by thread
    topic TEXT COLLATE NOCASE,             -- likewise
    PRIMARY KEY (message_id, agent_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX recipients_inbox ON recipients (agent_id, delivery_seq) WHERE delivery_seq IS NOT NULL;
CREATE INDEX recipients_unread ON recipients (agent_id, delivery_seq) WHERE delivery_seq IS NOT NULL AND read_ts IS NULL;
CREATE INDEX recipients_urgent ON recipients (agent_id, delivery_seq) WHERE delivery_seq IS NOT NULL AND urgent = 1;
CREATE INDEX recipients_urgent_unread ON recipients (agent_id, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND urgent = 1 AND read_ts IS NULL;
CREATE INDEX recipients_thread ON recipients (agent_id, thread_id, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND thread_id IS NOT NULL;
CREATE INDEX recipients_topic ON recipients (agent_id, topic, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND topic IS NOT NULL;
CREATE INDEX recipients_unacked ON recipients (agent_id, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL;

CREATE TABLE idempotency_keys (
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    key TEXT NOT NULL,
    arguments_hash BLOB NOT NULL,
    result TEXT NOT NULL,                  -- JSON of the first answer
    created_ts INTEGER NOT NULL,
    PRIMARY KEY (agent_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_age ON idempotency_keys (created_ts);

CREATE TABLE commits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    hexsha TEXT NOT NULL,
    summary TEXT NOT NULL,
    authored_ts INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    UNIQUE (project_id, hexsha)
) STRICT;

CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    kind TEXT NOT NULL,
    agent_id INTEGER REFERENCES agents (id),
    message_id INTEGER REFERENCES messages (id),
    step TEXT CHECK (step IN ('read', 'acknowledged')),   -- of a receipt: the archived line can be written again from it
    created_ts INTEGER NOT NULL,
    snapshot TEXT,                         -- JSON; NULL once the row is done
    commit_id INTEGER REFERENCES commits (id)
) STRICT;

CREATE INDEX outbox_pending ON outbox (project_id, seq) WHERE commit_id IS NULL;
CREATE INDEX outbox_oldest ON outbox (seq) WHERE commit_id IS NULL;
CREATE INDEX outbox_commit ON outbox (commit_id) WHERE commit_id IS NOT NULL;
CREATE INDEX outbox_agent ON outbox (agent_id, commit_id) WHERE agent_id IS NOT NULL;
CREATE INDEX outbox_message ON outbox (message_id) WHERE message_id IS NOT NULL;

-- What the full-text index holds. search_text() is the program's: it sets blanks between the characters of scripts
-- that are written without, so that any run of them is found. Without the program nothing can write to messages.
CREATE VIEW messages_searchable AS
SELECT id, search_text(subject) AS subject, search_text(body_md) AS body_md, scope FROM messages;

CREATE VIRTUAL TABLE messages_fts USING fts5 (
    subject, body_md, scope,
    content='messages_searchable', content_rowid='id',
    tokenize='unicode61 remove_diacritics 2'
);

-- Smaller pages than the 4,050 bytes of default: a search steps through the long list of its project's messages, and
-- each step reads one page of it from the start. Three times as fast at 100,000 messages; a send costs 2 % more.
INSERT INTO messages_fts (messages_fts, rank) VALUES ('pgsz', 1000);

CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts (rowid, subject, body_md, scope)
    VALUES (new.id, search_text(new.subject), search_text(new.body_md), new.scope);
END;
