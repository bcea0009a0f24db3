"""The older mcp_agent_mail: a database, which is the authority, and one Git repository for the mail of all projects."""
