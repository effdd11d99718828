"""Construction of the server's parts from its options: backend, admission, flow control, controllers.

Owns which part gets which other part. Must not implement behaviour. Mirrors apiserver pkg/server/config.go.
"""
