"""Conversion by declaration: the rules of a Conversion object (conversions.apiext.dev), without a webhook.

Owns the rules, their check against the schemas of a CRD, their compiled form, and the annotation that carries what a version
cannot hold. Must not do I/O: who follows Conversion objects hands over their documents. kube-apiserver has nothing like it.
"""
