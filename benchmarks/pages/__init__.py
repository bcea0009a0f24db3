"""What the pages for people cost over a large store, and what a person who clicks costs the agents."""
