"""Value validation: an object against the keywords of its schema.

Two readings of one schema: a checker, compiled per node on first use, says fast whether a value is valid; a report,
made only for an invalid value, says what is wrong in the reference's words and order.
Mirrors kube-openapi pkg/validation/{validate,errors} and apiextensions-apiserver pkg/apiserver/validation.
"""
