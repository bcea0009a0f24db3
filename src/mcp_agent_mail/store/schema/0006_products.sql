-- A product is several projects that make one thing.
CREATE TABLE products (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_uid TEXT NOT NULL UNIQUE,      -- 8 to 64 hexadecimal digits, lower case
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,         -- how names are compared
    created_ts INTEGER NOT NULL
) STRICT;

CREATE TABLE product_projects (
    product_id INTEGER NOT NULL REFERENCES products (id),
    project_id INTEGER NOT NULL REFERENCES projects (id),
    linked_ts INTEGER NOT NULL,
    PRIMARY KEY (product_id, project_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX product_projects_project ON product_projects (project_id, product_id);

-- The windows of clients: each keeps the name its agent came under, for a while. Not in the archive.
CREATE TABLE windows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    window_uuid TEXT NOT NULL,             -- made by the client; lower case
    display_name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    created_ts INTEGER NOT NULL,
    last_active_ts INTEGER NOT NULL,       -- from here counts the time after which it lapses
    expired_ts INTEGER,                    -- ended by a call, before its time
    UNIQUE (project_id, window_uuid)
) STRICT;

CREATE INDEX windows_uuid ON windows (window_uuid);
CREATE INDEX windows_live ON windows (project_id, last_active_ts DESC, id DESC) WHERE expired_ts IS NULL;
