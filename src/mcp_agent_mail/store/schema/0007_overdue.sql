-- Acknowledgements that are overdue. The counter is how far all inboxes were looked through, by delivery number: what
-- was delivered before this migration is not told of.
INSERT INTO counters (name, value) SELECT 'overdue', value FROM counters WHERE name = 'delivery';

-- Each message is told of once, whatever its recipients do later and however often the server starts.
CREATE TABLE overdue_notices (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id),
    noted_ts INTEGER NOT NULL,
    escalation TEXT CHECK (escalation IN ('log', 'file_reservation', 'mail'))   -- what was done besides; NULL: nothing
) STRICT;

CREATE INDEX recipients_overdue ON recipients (delivery_seq)
    WHERE delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL;
