"""The rules of custom resources (x-kubernetes-validations): compiled node by node, evaluated over objects, with ratcheting.

Mirrors apiextensions-apiserver pkg/apiserver/schema/cel (validation.go, compilation.go). Does not know how expressions are checked and run.
"""
