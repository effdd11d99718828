"""CEL expressions that set fields: checked against the schemas of both versions, priced, and evaluated for each object.

Owns the types that results must have, and what results are in JSON. Must not evaluate by itself: the language, its costs and its
programs are those of `schema/cel`.
"""
