"""Controllers of definitions: status and names, the finalizer of deleted definitions, status.storedVersions.

Owns what the server changes in definitions without a request, and these writes. Must not check what clients write.
Mirrors apiextensions-apiserver pkg/controller; the controller of storedVersions is this project's own.
"""
