"""Doors: other systems' ways to this mail, with their own names, texts and ids."""
