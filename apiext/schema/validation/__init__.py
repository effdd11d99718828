"""Value validation: checks an object against the keywords of its schema.

A checker, compiled per node on first use, quickly decides whether a value is valid. A report, made only for an invalid value,
returns the violations in the reference's words and order.
Mirrors kube-openapi pkg/validation/{validate,errors} and apiextensions-apiserver pkg/apiserver/validation.
"""
