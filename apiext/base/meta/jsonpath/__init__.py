"""JSONPath of printer columns and of the references to fields in the status of policies.

Must not know the objects that paths are about. Mirrors client-go util/jsonpath.
"""
