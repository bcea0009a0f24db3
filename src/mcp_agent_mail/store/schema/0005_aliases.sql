-- Other names of projects. Paths begin with '/'; 'slug:', 'uid:', 'remote:', 'toplevel:' and 'common:' say what the rest is.
CREATE TABLE project_aliases (
    alias TEXT PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    kind TEXT NOT NULL CHECK (kind IN ('path', 'tie', 'former')),  -- a directory seen; what ties directories; before an adoption
    created_ts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX project_aliases_project ON project_aliases (project_id, kind, created_ts, alias);
