"""Benchmarks: our server against the floor, a trivial FastMCP server with the same settings (`make bench`)."""
