-- Stored summaries of what came to a project lately; the newest are kept. They can be made again out of the mail.
CREATE TABLE digests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    newest_id INTEGER NOT NULL,            -- the message that was delivered last, and when: while they are
    newest_ts INTEGER NOT NULL,            -- the same, nothing newer came
    span INTEGER NOT NULL,                 -- how far back was asked for, in microseconds
    max_messages INTEGER NOT NULL,
    summary_text TEXT NOT NULL,            -- JSON
    start_ts INTEGER NOT NULL,
    end_ts INTEGER NOT NULL,
    source_message_count INTEGER NOT NULL,
    source_thread_ids TEXT NOT NULL,       -- JSON
    llm_model TEXT,                        -- NULL: by rules alone
    cost_usd REAL NOT NULL,
    created_ts INTEGER NOT NULL
) STRICT;

CREATE INDEX digests_project ON digests (project_id, created_ts DESC, id DESC);
CREATE INDEX digests_newest ON digests (project_id, newest_id, id);

-- What language models cost on a day (days since 1970, UTC), so that a restart does not renew the budget.
CREATE TABLE llm_spending (
    day INTEGER PRIMARY KEY,
    cost_usd REAL NOT NULL,
    calls INTEGER NOT NULL
) STRICT;
