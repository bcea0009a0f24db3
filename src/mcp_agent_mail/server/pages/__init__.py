"""The pages for people, over HTTP."""
