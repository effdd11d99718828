"""The HTTP server and its connections."""
