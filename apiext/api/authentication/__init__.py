"""Authentication: client certificates, static tokens, token reviews, front proxies.

Owns the conversion of credentials to a user. Must not know HTTP requests, nor permissions.
Mirrors k8s.io/apiserver/pkg/authentication.
"""
