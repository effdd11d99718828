"""Sources of definitions other than the API: folders and a host cluster.

Owns reading and watching them. Must not write to the store: callbacks write the definitions.
"""
