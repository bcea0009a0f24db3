"""`am products`: the command line of products."""
