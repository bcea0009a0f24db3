"""`am import`: a reader's records on their way to the store, and what a person is told of it."""
