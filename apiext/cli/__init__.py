"""The commands of `apiext`.

This room owns flags and printed output. A command imports the modules that it uses when it runs. It must not implement behaviour.
"""
