"""Tools for the authors of conversion rules: Conversion objects in files, the check with lines, trials on objects, first drafts.

Must not know how rules are checked or applied: apiext.resources.conversion.rules does. Writes nothing.
"""
