"""Authorization: permissions of a user, and impersonation.

Owns decisions about a user and a request's attributes. Must not know HTTP, nor authentication.
Mirrors k8s.io/apiserver/pkg/authorization.
"""
