"""From a request about a resource to what answers it: definitions and built-in kinds become endpoints.

Owns the scopes of custom resources (built when first used, replaced when their definition changes), those of built-in kinds, what
the phase of a mirror lets be done to its instances, their import, and the controllers that need all resources at once. Must not know
filters, nor how a verb is carried out.
Mirrors apiextensions-apiserver pkg/apiserver (customresource_handler.go).
"""
