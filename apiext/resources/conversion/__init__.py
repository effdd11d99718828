"""Conversion of custom resources between the versions of their CRD.

Owns the Converter protocol and its implementations. Must not prune, default or validate: the registry's codec does. Mirrors
apiextensions-apiserver pkg/apiserver/conversion.
"""
