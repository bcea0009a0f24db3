"""The plugins that `am setup` writes, for clients that load a program where others read a hook's entry."""
