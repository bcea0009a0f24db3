"""The command lines of agents: what their hooks say and hear, and how they are set up."""
