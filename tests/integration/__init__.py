"""A real server process, driven over HTTP with real clients."""
