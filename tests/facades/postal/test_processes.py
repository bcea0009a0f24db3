"""Rows of the facts about postal that a process shows: its start, its end, and the specification's own commands."""

from __future__ import annotations
