"""The Common Expression Language: rules are checked against a structural schema, priced, and compiled to Python functions.

Owns the environment (variables, libraries, versions), the types, the cost model and the evaluation of x-kubernetes-validations. Knows
no HTTP and no storage. Mirrors apiserver pkg/cel and apiextensions-apiserver pkg/apiserver/schema/cel; the language is that of cel-go.
"""
