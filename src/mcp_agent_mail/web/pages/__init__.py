"""The pages, a module each: what is asked for, which service says it, as which model it is shown."""
