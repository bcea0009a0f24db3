-- How often the holder of a lease was told that it holds it: by its grant, by what prolongs it, by the repeat of a keyed
-- call. An answer that nobody heard is counted off again, in the unit that ends a lease without any promise left.
ALTER TABLE leases ADD COLUMN promises INTEGER NOT NULL DEFAULT 1;
