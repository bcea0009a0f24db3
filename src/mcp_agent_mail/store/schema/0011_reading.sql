-- Threads are followed in the order in which their mail became readable, which for mail that was held is not the order
-- of its ids. It is the number of the first delivery that opened the message to the project.
ALTER TABLE message_projects ADD COLUMN delivery_seq INTEGER NOT NULL DEFAULT 0;

UPDATE message_projects SET delivery_seq = coalesce((
    SELECT min(r.delivery_seq) FROM messages m JOIN recipients r ON r.message_id = m.id JOIN agents a ON a.id = r.agent_id
    WHERE m.id = message_projects.message_id
      AND (m.project_id = message_projects.project_id OR (a.project_id = message_projects.project_id AND r.kind <> 'bcc'))
), 0);

DROP INDEX message_projects_thread;
CREATE INDEX message_projects_thread ON message_projects (thread_id, project_id, delivery_seq) WHERE thread_id IS NOT NULL;

-- How much unread mail others may know of: without blind copies, and without mail that is for its recipient's eyes alone.
ALTER TABLE agents ADD COLUMN open_unread_count INTEGER NOT NULL DEFAULT 0 CHECK (open_unread_count >= 0);

UPDATE agents SET open_unread_count = (
    SELECT count(*) FROM recipients r
    JOIN message_projects mp ON mp.project_id = agents.project_id AND mp.message_id = r.message_id
    WHERE r.agent_id = agents.id AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.kind <> 'bcc'
) WHERE unread_count > 0;

-- A receipt for a blind copy is told where the copy itself lies, and names nobody. Those of before are where they are.
ALTER TABLE outbox ADD COLUMN is_blind INTEGER NOT NULL DEFAULT 0 CHECK (is_blind IN (0, 1));
