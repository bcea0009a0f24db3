"""Importing: another system's store as plain records, whatever that system is."""
