-- What messages carry. The contents themselves lie beside the database, each named by its SHA-256.

CREATE TABLE message_attachments (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id),
    attachments TEXT NOT NULL CHECK (json_valid(attachments))     -- in their order, as lists show them
) STRICT;

-- Which messages carry a content: whoever sees one of them may read it.
CREATE TABLE content_messages (
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    message_id INTEGER NOT NULL REFERENCES messages (id),
    PRIMARY KEY (sha256, message_id)
) STRICT, WITHOUT ROWID;

-- What the archive of each project keeps, once for all of its mail.
CREATE TABLE project_contents (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (project_id, sha256)
) STRICT, WITHOUT ROWID;
