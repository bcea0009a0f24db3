"""What doors cost: letters by them beside letters by our own tools, those who wait, commands, and everybody else."""
