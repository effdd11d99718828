"""HTTP/2 connections of the server (RFC 9113): many requests at a time on one connection, for the same handler as HTTP/1.1.

Owns frames, windows and streams. Must not decide what an answer says. hack/decisions/http2-server.md says why this is no library's.
"""
