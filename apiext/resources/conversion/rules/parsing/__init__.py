"""Parts of the parser of Conversion objects: their shape by a JSON Schema, their paths, and the values of enum rules.

Must not know schemas of CRDs. What it finds are field errors with paths in the document.
"""
