-- Pairs of projects that a person has said are no siblings: the pages suggest them no more.

CREATE TABLE dismissed_siblings (
    project_id INTEGER NOT NULL REFERENCES projects (id),   -- the one that was made first
    sibling_id INTEGER NOT NULL REFERENCES projects (id),
    dismissed_ts INTEGER NOT NULL,
    PRIMARY KEY (project_id, sibling_id),
    CHECK (project_id < sibling_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX dismissed_siblings_sibling ON dismissed_siblings (sibling_id, project_id);
