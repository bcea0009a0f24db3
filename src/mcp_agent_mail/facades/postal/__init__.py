"""The door `postal`: a mailbox for every path `/agents/{agent}/mcp`, with two tools to write to others and to wait."""
