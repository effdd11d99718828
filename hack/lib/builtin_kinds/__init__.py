"""The command behind hack/builtin-kinds: data of the built-in kinds, from the reference and its Go types.

Must not contain anything of apiext's own behaviour.
"""
