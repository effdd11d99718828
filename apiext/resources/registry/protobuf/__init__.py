"""Protobuf of built-in kinds, as kube-apiserver stores it and client-go sends it.

Owns the field tables. Must not know custom resources, which have no Protobuf. Mirrors the generated.proto files of k8s.io/api,
apimachinery and apiextensions-apiserver.
"""
