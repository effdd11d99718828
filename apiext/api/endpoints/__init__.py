"""The verbs of the API, one file each, with negotiation, request options, bodies and response writers.

Translates an HTTP request to a registry call and the result to a response. Must not know CRDs or how objects are stored.
Mirrors k8s.io/apiserver/pkg/endpoints/handlers.
"""
