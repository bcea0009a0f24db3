"""Readers of other systems' stores: each turns one into neutral records, and changes nothing of it."""
