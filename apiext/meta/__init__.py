"""The Kubernetes machinery every room speaks: identifiers, Status errors, field paths, selectors, wire JSON.

Owns values and pure functions, and what all code on the event loop shares: pauses between attempts, the end of tasks, heavy work
in the background, the log. Must not do I/O, know of a server, or import any other room.
Mirrors k8s.io/apimachinery (pkg/api, pkg/apis/meta, pkg/runtime/schema, pkg/util).
"""
