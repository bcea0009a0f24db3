"""`am setup`: our entries in the configuration of agent command lines, and the way back."""
