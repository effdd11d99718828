"""REST over storage: what create, update and delete mean for each kind of object.

Owns the order of preparing, validating and admitting, the strategies (custom resources, their status and scale, namespaces, events,
custom resource definitions) and the one map from storage errors to Status errors. Must not know HTTP, nor how bytes are stored.
Mirrors apiserver pkg/registry and apiextensions-apiserver pkg/registry.
"""
