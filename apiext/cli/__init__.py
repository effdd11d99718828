"""The commands of `apiext`.

Owns flags and what is printed; a command imports what it needs when it runs. Must not do the work itself.
"""
