"""Scopes: the properties of an endpoint that its verbs use.

Owns open watches, and the copies of a scope in worker processes. Must not implement a verb.
Mirrors apiserver pkg/endpoints/handlers/rest.go.
"""
