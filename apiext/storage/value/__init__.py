"""What stands between objects and the bytes a backend holds: transformers of values.

Owns encryption at rest (identity only keeps bytes as they are). Must not know codecs, backends or HTTP.
Mirrors k8s.io/apiserver/pkg/storage/value.
"""
