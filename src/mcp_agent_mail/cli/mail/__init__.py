"""Commands of `am mail` beside looking and sending, and `am acks`."""
