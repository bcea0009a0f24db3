-- What an inbox holds, kept beside its unread mail: a look at the counts alone costs the same however large it is.
ALTER TABLE agents ADD COLUMN inbox_count INTEGER NOT NULL DEFAULT 0 CHECK (inbox_count >= 0);
ALTER TABLE agents ADD COLUMN urgent_unread_count INTEGER NOT NULL DEFAULT 0 CHECK (urgent_unread_count >= 0);
ALTER TABLE agents ADD COLUMN ack_pending_count INTEGER NOT NULL DEFAULT 0 CHECK (ack_pending_count >= 0);

UPDATE agents SET
    inbox_count = (
        SELECT count(*) FROM recipients r WHERE r.agent_id = agents.id AND r.delivery_seq IS NOT NULL),
    urgent_unread_count = (
        SELECT count(*) FROM recipients r
        WHERE r.agent_id = agents.id AND r.delivery_seq IS NOT NULL AND r.urgent = 1 AND r.read_ts IS NULL),
    ack_pending_count = (
        SELECT count(*) FROM recipients r
        WHERE r.agent_id = agents.id AND r.delivery_seq IS NOT NULL AND r.ack_required = 1 AND r.ack_ts IS NULL);
