-- Whom the operator has retired nobody's call or mail brings back: a mailbox of a door that was idle comes back by itself.
ALTER TABLE agents ADD COLUMN retired_by_operator INTEGER NOT NULL DEFAULT 0 CHECK (retired_by_operator IN (0, 1));
