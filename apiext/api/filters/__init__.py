"""The filters that every request passes, one per file.

A filter wraps the next handler, and is a handler itself. This room owns headers, limits and identities of requests. It must not know
the served resources. server/handler_chain.py defines the order.
Mirrors k8s.io/apiserver/pkg/endpoints/filters and pkg/server/filters.
"""
