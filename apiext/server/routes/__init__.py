"""Answers that are no resources: health, version, metrics, the index of paths.

Mirrors k8s.io/apiserver/pkg/server/routes and pkg/server/healthz.
"""
