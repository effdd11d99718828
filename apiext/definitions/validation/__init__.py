"""What makes a CustomResourceDefinition valid, in the reference's words, and what it is warned about.

Works on definitions in canonical form (codec). Paths and bad values are those of the reference's internal type: what all versions share
is reported once, under the spec. Mirrors apiextensions-apiserver pkg/apis/apiextensions/validation.
"""
