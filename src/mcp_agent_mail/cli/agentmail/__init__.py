"""`agentmail`: the command of agents that live in windows of tmux, over this server's mail."""
