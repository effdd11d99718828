"""Who sends a request: client certificates, static tokens, front proxies, anonymous.

Owns the ways from credentials to a user. Must not know HTTP requests, nor what a user may do.
Mirrors k8s.io/apiserver/pkg/authentication.
"""
