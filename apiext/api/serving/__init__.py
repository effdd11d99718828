"""Serving of resources: turns definitions and built-in kinds into endpoints, and dispatches requests to them.

Owns the scopes of custom resources (built with their first request, replaced when the definition changes) and of built-in kinds,
the phases of mirrors and the import of their objects, and the controllers that need all resources. Must not know filters, nor
implement verbs.
Mirrors apiextensions-apiserver pkg/apiserver (customresource_handler.go).
"""
