"""Structural schemas: what a CRD version's openAPIV3Schema makes of an object.

Owns the model of a structural schema and one rule a module: structural invariants, pruning, defaulting, embedded object
metadata, list types, value validation. Rules work on plain dicts and speak in field errors. Must not know about
requests, storage or CRDs as a whole: a schema comes in as the dict that stands in the CRD.
Mirrors k8s.io/apiextensions-apiserver pkg/apiserver/{schema,validation} and k8s.io/kube-openapi pkg/validation.
"""
