"""Doors at rest: names, ids, and what was given and not yet had."""
