-- Old mail that everyone has read leaves a tombstone: the row stays, with its id, its thread and its recipients, and its
-- body says that it is gone. Last in the row, so that lists never read past a body to it.
ALTER TABLE messages ADD COLUMN purged_ts INTEGER;

-- What is old and still there, oldest first.
CREATE INDEX messages_unpurged ON messages (project_id, created_ts, id) WHERE purged_ts IS NULL;

-- A tombstone is not searched for.
DROP VIEW messages_searchable;
CREATE VIEW messages_searchable AS
SELECT id, search_text(subject) AS subject, search_text(body_md) AS body_md, scope FROM messages WHERE purged_ts IS NULL;

CREATE TRIGGER messages_fts_purge AFTER UPDATE OF purged_ts ON messages
WHEN old.purged_ts IS NULL AND new.purged_ts IS NOT NULL BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, subject, body_md, scope)
    VALUES ('delete', old.id, search_text(old.subject), search_text(old.body_md), old.scope);
END;
