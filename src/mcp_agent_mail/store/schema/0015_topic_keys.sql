-- Mail is found by its topic in small letters, not by a collation that SQLite alone has: where a topic is only looked
-- for, the key takes its place. As written it stands with the message. Topics are ASCII, so that lower() folds them all.
ALTER TABLE message_projects ADD COLUMN topic_key TEXT;
UPDATE message_projects SET topic_key = lower(topic) WHERE topic IS NOT NULL;
DROP INDEX message_projects_topic;
ALTER TABLE message_projects DROP COLUMN topic;
CREATE INDEX message_projects_topic ON message_projects (project_id, topic_key, message_id)
    WHERE topic_key IS NOT NULL;

ALTER TABLE recipients ADD COLUMN topic_key TEXT;
UPDATE recipients SET topic_key = lower(topic) WHERE topic IS NOT NULL;
DROP INDEX recipients_topic;
ALTER TABLE recipients DROP COLUMN topic;
CREATE INDEX recipients_topic ON recipients (agent_id, topic_key, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND topic_key IS NOT NULL;
