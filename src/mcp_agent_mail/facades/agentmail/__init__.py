"""The door of AgentMail: what the command `agentmail` asks of a server, over plain HTTP."""
