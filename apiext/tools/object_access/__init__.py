"""Access to stored objects as bytes: on a running server, or in the store of a stopped one.

Must not interpret an object. Has no counterpart in Kubernetes.
"""
