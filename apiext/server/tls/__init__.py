"""The server's keys and certificates as files, and the TLS context; the library for them is used nowhere else in this room.

Mirrors k8s.io/apiserver/pkg/server/options (serving.go). What certificates are is cert's.
"""
