-- What becomes of each copy after its delivery, and the feed in which its sender and its recipient follow it.

-- Terms under which a message was sent, and its withdrawal. Most messages have none.
CREATE TABLE message_terms (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id),
    valid_until_ts INTEGER,
    supersedes INTEGER REFERENCES messages (id),
    withdrawn_ts INTEGER,
    withdrawn_reason TEXT
) STRICT;

CREATE INDEX message_terms_supersedes ON message_terms (supersedes) WHERE supersedes IS NOT NULL;

-- The message's, for the count of what a sender has written since.
ALTER TABLE recipients ADD COLUMN sender_id INTEGER REFERENCES agents (id);
UPDATE recipients SET sender_id = (SELECT sender_id FROM messages WHERE id = recipients.message_id);
CREATE INDEX recipients_sender ON recipients (agent_id, sender_id, delivery_seq) WHERE delivery_seq IS NOT NULL;

-- Steps of the ladder that are side facts: no archive tells of the first two.
ALTER TABLE recipients ADD COLUMN handed_ts INTEGER;      -- the answer with it left the process to its last byte
ALTER TABLE recipients ADD COLUMN shown_ts INTEGER;       -- a later call proves that the agent has got that answer
ALTER TABLE recipients ADD COLUMN answered_ts INTEGER;    -- the recipient's first reply

-- How a copy that was never read ends. What was read stays read.
ALTER TABLE recipients ADD COLUMN valid_until_ts INTEGER;    -- the message's
ALTER TABLE recipients ADD COLUMN expired_ts INTEGER;     -- its valid_until_ts, once that has passed with the copy unread
ALTER TABLE recipients ADD COLUMN withdrawn_ts INTEGER;   -- the copy's, or the message's where the copy was read before
ALTER TABLE recipients ADD COLUMN withdrawn_seq INTEGER;  -- the delivery number of a copy that has left its inbox
ALTER TABLE recipients ADD COLUMN superseded_by INTEGER REFERENCES messages (id);

-- When the sender was told that the reader is gone.
ALTER TABLE recipients ADD COLUMN gone_ts INTEGER;

DROP INDEX recipients_unread;
CREATE INDEX recipients_unread ON recipients (agent_id, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND read_ts IS NULL AND expired_ts IS NULL;

DROP INDEX recipients_urgent_unread;
CREATE INDEX recipients_urgent_unread ON recipients (agent_id, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND urgent = 1 AND read_ts IS NULL AND expired_ts IS NULL;

DROP INDEX recipients_unacked;
CREATE INDEX recipients_unacked ON recipients (agent_id, delivery_seq)
    WHERE delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL AND expired_ts IS NULL;

DROP INDEX recipients_overdue;
CREATE INDEX recipients_overdue ON recipients (delivery_seq)
    WHERE delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL AND expired_ts IS NULL;

DROP INDEX recipients_held;
CREATE INDEX recipients_held ON recipients (agent_id, message_id)
    WHERE delivery_seq IS NULL AND refused_ts IS NULL AND withdrawn_ts IS NULL AND expired_ts IS NULL;

CREATE INDEX recipients_valid ON recipients (valid_until_ts)
    WHERE valid_until_ts IS NOT NULL AND read_ts IS NULL AND expired_ts IS NULL AND withdrawn_ts IS NULL
      AND refused_ts IS NULL;

CREATE INDEX recipients_unseen ON recipients (delivery_seq)
    WHERE delivery_seq IS NOT NULL AND (urgent = 1 OR ack_required = 1) AND read_ts IS NULL AND shown_ts IS NULL
      AND expired_ts IS NULL;

-- Cursors are drawn from the counter 'delivery', as delivery numbers are: one rising number for all. Deliveries
-- themselves stand in recipients; here stands that of a copy which has left its inbox.
CREATE TABLE feed (
    cursor INTEGER PRIMARY KEY,
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    event TEXT NOT NULL CHECK (event IN ('delivered', 'withdrawn', 'expired', 'shown', 'read', 'acknowledged',
                                         'answered', 'refused', 'unseen', 'gone')),
    message_id INTEGER NOT NULL REFERENCES messages (id),
    about_id INTEGER REFERENCES agents (id),                  -- the recipient, in its sender's feed
    ts INTEGER NOT NULL
) STRICT;

CREATE INDEX feed_agent ON feed (agent_id, cursor);

-- How far the numbers were at which time, for what is too old to be kept.
CREATE TABLE feed_marks (
    ts INTEGER PRIMARY KEY,
    cursor INTEGER NOT NULL
) STRICT;

-- 'feed_floor': the feed is kept above it; 'unseen': how far inboxes were looked through for what nobody has seen. What
-- was delivered before this migration is not told of.
INSERT INTO counters (name, value) SELECT 'feed_floor', value FROM counters WHERE name = 'delivery';
INSERT INTO counters (name, value) SELECT 'unseen', value FROM counters WHERE name = 'delivery';

-- Answered implies read: of replies from when they marked nothing it is not told.
UPDATE recipients SET answered_ts = (
    SELECT m.created_ts FROM messages m
    WHERE m.reply_to = recipients.message_id AND m.sender_id = recipients.agent_id ORDER BY m.id LIMIT 1)
WHERE delivery_seq IS NOT NULL AND read_ts IS NOT NULL
  AND message_id IN (SELECT reply_to FROM messages WHERE reply_to IS NOT NULL);

-- Whichever statement lets a step happen: the feeds tell of it. Nobody reads that of the server's own mail.
CREATE TRIGGER feed_steps
AFTER UPDATE OF shown_ts, read_ts, ack_ts, answered_ts, refused_ts, expired_ts, gone_ts ON recipients BEGIN
    INSERT INTO feed (cursor, agent_id, event, message_id, about_id, ts)
    SELECT (SELECT value FROM counters WHERE name = 'delivery') + row_number() OVER (ORDER BY step.place),
           iif(step.is_own, new.agent_id, m.sender_id), step.event, m.id, iif(step.is_own, NULL, new.agent_id), step.ts
    FROM (
        SELECT 1 AS place, 0 AS is_own, 'shown' AS event, old.shown_ts AS earlier, new.shown_ts AS ts
        UNION ALL SELECT 2, 0, 'read', old.read_ts, new.read_ts
        UNION ALL SELECT 3, 0, 'acknowledged', old.ack_ts, new.ack_ts
        UNION ALL SELECT 4, 0, 'answered', old.answered_ts, new.answered_ts
        UNION ALL SELECT 5, 0, 'refused', old.refused_ts, new.refused_ts
        UNION ALL SELECT 6, 1, 'expired', old.expired_ts, new.expired_ts
        UNION ALL SELECT 7, 0, 'expired', old.expired_ts, new.expired_ts
        UNION ALL SELECT 8, 0, 'gone', old.gone_ts, new.gone_ts
    ) step CROSS JOIN messages m ON m.id = new.message_id
    WHERE step.earlier IS NULL AND step.ts IS NOT NULL
      AND CASE WHEN step.is_own THEN new.delivery_seq IS NOT NULL ELSE m.is_system = 0 END;
    UPDATE counters SET value = max(value, (SELECT coalesce(max(cursor), 0) FROM feed)) WHERE name = 'delivery';
END;

-- What is withdrawn. A copy that leaves its inbox stays in the feed under its number.
CREATE TRIGGER feed_withdrawals AFTER UPDATE OF withdrawn_ts ON recipients
WHEN old.withdrawn_ts IS NULL AND new.withdrawn_ts IS NOT NULL AND old.delivery_seq IS NOT NULL BEGIN
    INSERT INTO feed (cursor, agent_id, event, message_id, ts)
    SELECT new.withdrawn_seq, new.agent_id, 'delivered', new.message_id, new.delivered_ts
    WHERE new.withdrawn_seq IS NOT NULL;
    UPDATE counters SET value = value + 1 WHERE name = 'delivery';
    INSERT INTO feed (cursor, agent_id, event, message_id, ts)
    SELECT value, new.agent_id, 'withdrawn', new.message_id, new.withdrawn_ts FROM counters WHERE name = 'delivery';
END;

-- And carries nothing any more.
CREATE TRIGGER recipients_left AFTER UPDATE OF withdrawn_seq ON recipients WHEN new.withdrawn_seq IS NOT NULL BEGIN
    DELETE FROM content_parties
    WHERE agent_id = new.agent_id AND message_id = new.message_id AND agent_id <> new.sender_id
      AND sha256 IN (SELECT sha256 FROM content_messages WHERE message_id = new.message_id);
END;

-- What has left the mail of a project carries nothing there.
CREATE TRIGGER message_projects_left AFTER DELETE ON message_projects BEGIN
    DELETE FROM content_projects WHERE project_id = old.project_id AND message_id = old.message_id
      AND sha256 IN (SELECT sha256 FROM content_messages WHERE message_id = old.message_id);
END;
