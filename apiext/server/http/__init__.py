"""The HTTP server, its connections and its listening socket."""
