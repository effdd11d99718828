"""What a user may do.

Owns decisions about a user and what the request is about. Must not know HTTP, nor how the user was found.
Mirrors k8s.io/apiserver/pkg/authorization.
"""
