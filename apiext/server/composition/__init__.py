"""Construction of the server's parts from its options: backend, admission, flow control, controllers.

Owns the connections between the parts. Must not implement behaviour. Mirrors apiserver pkg/server/config.go.
"""
