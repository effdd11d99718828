"""Validation and warnings of CustomResourceDefinitions, with the reference's messages.

Works on definitions in canonical form (codec). Paths and bad values are those of the reference's internal type: a field that is equal in
all versions is reported once, under the spec. Mirrors apiextensions-apiserver pkg/apis/apiextensions/validation.
"""
