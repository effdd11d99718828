"""What the server serves, as clients ask for it: API groups, versions and resources, plain and aggregated.

Owns the documents at /api and /apis. Must not decide what is served: that is the catalog's and the built-in data's.
Mirrors k8s.io/apiserver/pkg/endpoints/discovery and apiextensions-apiserver's discovery controller.
"""
