"""REST over storage: create, update and delete of each kind of object.

Owns the order of preparation, validation and admission, the strategies (custom resources, their status and scale, namespaces,
events, custom resource definitions) and the map from storage errors to Status errors. Must not know HTTP or the backend. Mirrors
apiserver pkg/registry and apiextensions-apiserver pkg/registry.
"""
