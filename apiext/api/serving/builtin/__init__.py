"""Built-in kinds as clients see them: endpoints, Table columns, field selectors and merge keys.

One row a kind (`served_kind.ServedKind`) beside its columns; the Go type and the rules of its objects are in registry/builtin.
"""
