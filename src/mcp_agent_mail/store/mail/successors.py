"""Which message stands for a copy that was replaced: SQL for it."""

from __future__ import annotations


def standing_successor(row: str) -> str:
    """SQL for the message that replaces what `row`, a copy, is of, while that message lies in the reader's inbox. NULL
    where it was withdrawn or replaced before it was read: nobody could open it.
    """
    return f"""CASE WHEN {row}.superseded_by IS NOT NULL THEN (
        SELECT n.message_id FROM recipients n
        WHERE n.message_id = {row}.superseded_by AND n.agent_id = {row}.agent_id AND n.delivery_seq IS NOT NULL) END"""


def ended_blindly(row: str) -> str:
    """The SQL condition that `row`, a copy, left its inbox by a message that its reader got blindly, which is nobody
    else's to know.
    """
    return f"""({row}.superseded_by IS NOT NULL AND {row}.delivery_seq IS NULL AND EXISTS (
        SELECT 1 FROM recipients n
        WHERE n.message_id = {row}.superseded_by AND n.agent_id = {row}.agent_id AND n.kind = 'bcc'))"""
