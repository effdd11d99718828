"""The Kubernetes machinery that every room uses: identifiers, Status errors, field paths, selectors, JSON values.

Owns values and pure functions, and the log. Must not do I/O, know a server or the event loop, or import any other room.
Mirrors k8s.io/apimachinery (pkg/api, pkg/apis/meta, pkg/runtime/schema, pkg/util).
"""
