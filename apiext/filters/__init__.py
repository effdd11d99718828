"""The filters that every request passes, one per file.

A filter wraps the next handler, and is a handler itself. This room owns headers, limits and identities of requests; it must not know
which resources are served. server/handler_chain.py defines the order.
Mirrors k8s.io/apiserver/pkg/endpoints/filters and pkg/server/filters.
"""
