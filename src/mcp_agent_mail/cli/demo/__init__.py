"""`am demo`: two scripted agents work a small task by mail, through real MCP clients, on a scratch server."""
