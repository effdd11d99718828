"""What a resource is: definitions, the versions of objects, the rules of writes, the managers of fields.

Owns the meaning of CRDs and of built-in kinds. Must not know HTTP, users or their rights. Mirrors k8s.io/apiextensions-apiserver/pkg and
the registries of k8s.io/kubernetes/pkg/registry.
"""
