"""The tables as types, a module for each noun. A test holds them equal to `schema/*.sql`, which makes the real ones.

Importing SQLModel takes 0.4 s and 20 MB: the server never does, and its statements are plain SQL.
"""
