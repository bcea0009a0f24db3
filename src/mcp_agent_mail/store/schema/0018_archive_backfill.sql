-- What archives still have to be told besides what waits in the outbox, and loses nothing by waiting a little.

-- Projects whose own file lacks aliases that have changed since it was last queued.
CREATE TABLE stale_aliases (
    project_id INTEGER PRIMARY KEY REFERENCES projects (id)
) STRICT;

-- Overdue notices from before archives kept them.
CREATE TABLE unqueued_notices (
    message_id INTEGER PRIMARY KEY REFERENCES overdue_notices (message_id)
) STRICT;

INSERT INTO stale_aliases SELECT DISTINCT project_id FROM project_aliases;
INSERT INTO unqueued_notices SELECT message_id FROM overdue_notices;
