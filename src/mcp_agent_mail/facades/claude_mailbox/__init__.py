"""The door `claude-mailbox`: five tools, a small REST and `/health`, for callers who say in a header who they are."""
