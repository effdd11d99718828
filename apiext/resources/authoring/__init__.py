"""Conversion rules for their author: a first draft from the schemas of a CRD, and trials of rules on objects.

Must not know where objects come from, nor write anything. Has no counterpart in Kubernetes.
"""
