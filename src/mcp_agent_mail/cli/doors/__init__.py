"""`am facade`: the doors of other systems, for who runs the server."""
