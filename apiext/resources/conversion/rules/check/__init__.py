"""The check of conversion rules against the schemas of a CRD, before any object is converted.

A schema travels through the rules as an object would, and is compared with the schema of the version in which it arrives. Owns what
the author of rules reads: problems, warnings and losses. Must not do I/O, and must not change rules or schemas.
"""
