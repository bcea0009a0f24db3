-- Names of code are of a project now, not of the whole store: which of them a search tries hangs on mail that whoever
-- searches may read, and on no other. They come when a message becomes a project's mail, so of held mail none is here.
DROP TRIGGER messages_identifiers;
DROP TRIGGER identifiers_insert;
DROP TABLE identifiers_fts;
DROP TABLE identifiers;

CREATE TABLE identifiers (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,                   -- 'p<project id>.': the index knows no text shorter than three
    name TEXT NOT NULL,                    -- in small letters
    UNIQUE (scope, name)
) STRICT;

CREATE VIRTUAL TABLE identifiers_fts USING fts5 (
    name, scope, content='identifiers', content_rowid='id', tokenize='trigram'
);

CREATE TRIGGER identifiers_insert AFTER INSERT ON identifiers BEGIN
    INSERT INTO identifiers_fts (rowid, name, scope) VALUES (new.id, new.name, new.scope);
END;

CREATE TRIGGER identifiers_delete AFTER DELETE ON identifiers BEGIN
    INSERT INTO identifiers_fts (identifiers_fts, rowid, name, scope) VALUES ('delete', old.id, old.name, old.scope);
END;

CREATE TRIGGER identifiers_update AFTER UPDATE ON identifiers BEGIN
    INSERT INTO identifiers_fts (identifiers_fts, rowid, name, scope) VALUES ('delete', old.id, old.name, old.scope);
    INSERT INTO identifiers_fts (rowid, name, scope) VALUES (new.id, new.name, new.scope);
END;

CREATE TRIGGER message_projects_identifiers AFTER INSERT ON message_projects BEGIN
    INSERT OR IGNORE INTO identifiers (scope, name)
    SELECT 'p' || new.project_id || '.', found.value
    FROM messages m, json_each(identifiers_in(m.subject, m.body_md)) found WHERE m.id = new.message_id;
END;

INSERT OR IGNORE INTO identifiers (scope, name)
SELECT 'p' || mp.project_id || '.', found.value
FROM message_projects mp CROSS JOIN messages m ON m.id = mp.message_id
CROSS JOIN json_each(identifiers_in(m.subject, m.body_md)) found ORDER BY mp.message_id;

-- Who reported an event, where a token proved it: nobody's flood displaces what others have reported.
ALTER TABLE guard_events ADD COLUMN reporter_id INTEGER REFERENCES agents (id);

CREATE INDEX guard_events_reporter ON guard_events (project_id, reporter_id, ts DESC, id DESC);
