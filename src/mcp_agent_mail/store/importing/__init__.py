"""Imports at rest: what was taken over from other systems' stores, and how past things are written."""
