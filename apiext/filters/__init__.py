"""What every request passes before it is served, one filter a file.

A filter is made of the next handler and its settings, and is a handler itself. Owns the headers, limits and identities
of requests; must not know what is served. The order is server/handler_chain.py.
Mirrors k8s.io/apiserver/pkg/endpoints/filters and pkg/server/filters.
"""
