"""JWTs as bearer tokens: whose they are, what they may do, and which agents they prove."""
