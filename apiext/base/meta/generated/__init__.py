"""Kinds of kube-apiserver that apiext serves from generated data: their resources, Go types and OpenAPI definitions.

Owns data.zip, which hack/builtin-kinds writes. Must not be imported without the flag --builtin-kinds.
"""
