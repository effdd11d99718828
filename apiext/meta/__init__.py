"""The Kubernetes machinery every room speaks: identifiers, Status errors, field paths, selectors, wire JSON.

Owns values and pure functions only. Must not do I/O, hold state, or import any other room.
Mirrors k8s.io/apimachinery (pkg/api, pkg/apis/meta, pkg/runtime/schema, pkg/util).
"""
