-- What was taken over from other systems' stores: by it a store that is read again brings nothing a second time.

CREATE TABLE import_units (
    id INTEGER PRIMARY KEY,
    system TEXT NOT NULL,
    store_id TEXT NOT NULL,                     -- tells the stores of one system apart
    imported_ts INTEGER NOT NULL
) STRICT;

-- Written in the unit of work that writes what it tells of.
CREATE TABLE imported (
    system TEXT NOT NULL,
    store_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('projects', 'agents', 'messages', 'leases', 'links', 'products')),
    source_key TEXT NOT NULL,                   -- what the source calls it
    number INTEGER NOT NULL,                    -- the id of what it is here
    project_id INTEGER NOT NULL REFERENCES projects (id),  -- whose archive tells of it
    unit_id INTEGER NOT NULL REFERENCES import_units (id),
    PRIMARY KEY (system, store_id, kind, source_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX imported_unit ON imported (unit_id, project_id);
CREATE INDEX imported_project ON imported (project_id, unit_id);
-- Mail that was history when it came: nobody is told of it, nor that it has not been answered.
CREATE INDEX imported_mail ON imported (number) WHERE kind = 'messages';
