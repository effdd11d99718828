"""Endpoints that are not resources: health, version, metrics and the index of paths.

Mirrors k8s.io/apiserver/pkg/server/routes and pkg/server/healthz.
"""
