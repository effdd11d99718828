"""Kinds of kube-apiserver that apiext serves from generated data: their resources, Go types and OpenAPI definitions.

Owns data.zip, which hack/builtin-kinds writes. Without the flag --builtin-kinds only Go types are read: those of kinds that every
server serves.
"""
