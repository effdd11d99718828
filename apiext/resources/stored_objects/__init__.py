"""Access to the stored objects of definitions as bytes, without a server: what a store holds, and repairs of it.

Must not serve, nor change an object unless asked to. Has no counterpart in Kubernetes.
"""
