"""What pages show, as frozen models: all that a template needs, and nothing that it would have to ask for."""
