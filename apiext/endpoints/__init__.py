"""The verbs of the API: one file each, with negotiation, request options, bodies and tables.

Owns the way from an HTTP request to a registry call and back. Must not know CRDs or how anything is stored.
Mirrors k8s.io/apiserver/pkg/endpoints/handlers.
"""
