"""Coverage of schemas by cases: which properties, values, rules and limits no case touched.

Owns the points of a schema and how objects and refusals touch them. Must not run anything.
"""
