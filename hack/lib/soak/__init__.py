"""The soak: hostile inputs beside an ordinary client, and kill -9 under writers, against a running server."""
