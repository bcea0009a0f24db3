"""Other systems' databases, read from private copies. Nothing of ours is stored by it."""
