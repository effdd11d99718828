"""Discovery: API groups, versions and resources, plain and aggregated.

Owns the documents at /api and /apis. Must not choose the served resources: the catalog and the built-in data do.
Mirrors k8s.io/apiserver/pkg/endpoints/discovery and apiextensions-apiserver's discovery controller.
"""
