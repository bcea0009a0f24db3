-- Mail that was imported is known by its key whichever store of its system it is found in: stores lose their oldest
-- rows, by which they are told apart.
CREATE INDEX imported_key ON imported (system, source_key) WHERE kind = 'messages';
