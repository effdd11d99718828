"""Sources of definitions other than the API: folders and a host cluster.

Owns reading them and watching them for changes. Must not write to the store: callbacks write what is found.
"""
