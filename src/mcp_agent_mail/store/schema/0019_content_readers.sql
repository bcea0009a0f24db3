-- Who may read a content, by whom it is asked for: found at once, however many messages of others carry it too.
-- Both follow from content_messages, message_projects, messages and recipients.

-- Of the mail that carries it, what is open to each project.
CREATE TABLE content_projects (
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    project_id INTEGER NOT NULL REFERENCES projects (id),
    message_id INTEGER NOT NULL REFERENCES messages (id),
    PRIMARY KEY (sha256, project_id, message_id)
) STRICT, WITHOUT ROWID;

-- And what each agent has sent or been delivered.
CREATE TABLE content_parties (
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    message_id INTEGER NOT NULL REFERENCES messages (id),
    PRIMARY KEY (sha256, agent_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX content_messages_message ON content_messages (message_id);

-- A message is stored with its projects and recipients before what it carries is noted.
CREATE TRIGGER content_messages_readers AFTER INSERT ON content_messages BEGIN
    INSERT OR IGNORE INTO content_projects (sha256, project_id, message_id)
    SELECT new.sha256, p.project_id, new.message_id FROM (
        SELECT project_id FROM messages WHERE id = new.message_id
        UNION SELECT a.project_id FROM recipients r JOIN agents a ON a.id = r.agent_id WHERE r.message_id = new.message_id
    ) p CROSS JOIN message_projects mp ON mp.project_id = p.project_id AND mp.message_id = new.message_id;
    INSERT OR IGNORE INTO content_parties (sha256, agent_id, message_id)
    SELECT new.sha256, sender_id, id FROM messages WHERE id = new.message_id
    UNION SELECT new.sha256, agent_id, message_id FROM recipients
    WHERE message_id = new.message_id AND delivery_seq IS NOT NULL;
END;

CREATE TRIGGER content_messages_left AFTER DELETE ON content_messages BEGIN
    DELETE FROM content_projects WHERE sha256 = old.sha256 AND message_id = old.message_id AND project_id IN (
        SELECT project_id FROM messages WHERE id = old.message_id
        UNION SELECT a.project_id FROM recipients r JOIN agents a ON a.id = r.agent_id WHERE r.message_id = old.message_id);
    DELETE FROM content_parties WHERE sha256 = old.sha256 AND message_id = old.message_id AND agent_id IN (
        SELECT sender_id FROM messages WHERE id = old.message_id
        UNION SELECT agent_id FROM recipients WHERE message_id = old.message_id);
END;

-- A held copy that is let in.
CREATE TRIGGER message_projects_contents AFTER INSERT ON message_projects WHEN new.is_late = 1 BEGIN
    INSERT OR IGNORE INTO content_projects (sha256, project_id, message_id)
    SELECT sha256, new.project_id, new.message_id FROM content_messages WHERE message_id = new.message_id;
END;

CREATE TRIGGER recipients_contents AFTER UPDATE OF delivery_seq ON recipients
WHEN old.delivery_seq IS NULL AND new.delivery_seq IS NOT NULL BEGIN
    INSERT OR IGNORE INTO content_parties (sha256, agent_id, message_id)
    SELECT sha256, new.agent_id, new.message_id FROM content_messages WHERE message_id = new.message_id;
END;

INSERT INTO content_projects (sha256, project_id, message_id)
SELECT c.sha256, mp.project_id, c.message_id FROM message_projects mp
JOIN content_messages c ON c.message_id = mp.message_id;

INSERT INTO content_parties (sha256, agent_id, message_id)
SELECT c.sha256, m.sender_id, c.message_id FROM content_messages c JOIN messages m ON m.id = c.message_id
UNION SELECT c.sha256, r.agent_id, c.message_id FROM content_messages c JOIN recipients r ON r.message_id = c.message_id
WHERE r.delivery_seq IS NOT NULL;
