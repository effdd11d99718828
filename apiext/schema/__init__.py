"""Structural schemas: pruning, defaulting and validation of objects by the openAPIV3Schema of a CRD version.

Owns the model of a structural schema and one rule a module: structural invariants, pruning, defaulting, embedded object metadata,
list types, value validation. Rules work on plain dicts and return field errors. Must not know requests, storage or whole CRDs: a
schema is the dict from the CRD.
Mirrors k8s.io/apiextensions-apiserver pkg/apiserver/{schema,validation} and k8s.io/kube-openapi pkg/validation.
"""
