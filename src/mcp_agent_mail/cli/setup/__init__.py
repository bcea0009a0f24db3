"""`am setup`: agent command lines get our MCP entry and our hooks, or lose them again."""
