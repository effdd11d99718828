"""Server-side apply: which manager owns which field, and how an applied configuration merges into an object.

Owns field sets and their JSON (FieldsV1), the merge types of structural schemas and of built-in kinds, typed comparison, merge and
removal, the updater, the entries of metadata.managedFields and apply conflicts. Works on plain dicts and never changes its arguments.
Must not know requests or storage: a protocol converts between versions.
Mirrors sigs.k8s.io/structured-merge-diff and apimachinery pkg/util/managedfields.
"""
