"""Which message stands for a copy that was replaced: SQL for it."""

from __future__ import annotations

FOLLOWED = 32
"""So many replacements in a row are followed to one that still lies in its reader's inbox."""


def standing_successor(row: str) -> str:
    """SQL for the first message in the reader's inbox that replaces what `row`, a copy, is of: also by replacing one
    that left the inbox unread. NULL where there is none, as after a successor was withdrawn.
    """
    return f"""CASE WHEN {row}.superseded_by IS NOT NULL THEN (WITH RECURSIVE later (message_id, number) AS (
        SELECT {row}.superseded_by, 1
        UNION ALL SELECT n.superseded_by, later.number + 1
        FROM later CROSS JOIN recipients n ON n.message_id = later.message_id AND n.agent_id = {row}.agent_id
        WHERE n.delivery_seq IS NULL AND n.superseded_by IS NOT NULL AND later.number < {FOLLOWED})
    SELECT n.message_id FROM later
    CROSS JOIN recipients n ON n.message_id = later.message_id AND n.agent_id = {row}.agent_id
    WHERE n.delivery_seq IS NOT NULL LIMIT 1) END"""


def ended_blindly(row: str) -> str:
    """The SQL condition that `row`, a copy, left its inbox by a message that its reader got blindly, which is nobody
    else's to know.
    """
    return f"""({row}.superseded_by IS NOT NULL AND {row}.delivery_seq IS NULL AND EXISTS (
        SELECT 1 FROM recipients n
        WHERE n.message_id = {row}.superseded_by AND n.agent_id = {row}.agent_id AND n.kind = 'bcc'))"""
