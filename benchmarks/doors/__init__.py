"""What doors cost: mail by them beside mail by this server's own tools, those who wait, commands, and everybody else."""
