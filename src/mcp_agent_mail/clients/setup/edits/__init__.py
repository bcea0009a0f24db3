"""Edits of configuration files that leave every byte of others where it was."""
