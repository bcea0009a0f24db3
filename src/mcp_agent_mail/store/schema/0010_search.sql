-- Names of code that mail has spoken of, `reparseToken` and `parse_token`: a search that finds nothing looks for its
-- words inside of them. They are of the whole store and of no project; only a search within what its caller may see
-- leads from a name to mail. A name is kept once, so mail that repeats known names costs a look-up of each.
CREATE TABLE identifiers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE              -- in small letters
) STRICT;

CREATE VIRTUAL TABLE identifiers_fts USING fts5 (
    name, content='identifiers', content_rowid='id', tokenize='trigram'
);

CREATE TRIGGER identifiers_insert AFTER INSERT ON identifiers BEGIN
    INSERT INTO identifiers_fts (rowid, name) VALUES (new.id, new.name);
END;

CREATE TRIGGER messages_identifiers AFTER INSERT ON messages BEGIN
    INSERT OR IGNORE INTO identifiers (name) SELECT value FROM json_each(identifiers_in(new.subject, new.body_md));
END;

INSERT OR IGNORE INTO identifiers (name)
SELECT found.value FROM messages, json_each(identifiers_in(messages.subject, messages.body_md)) found;
