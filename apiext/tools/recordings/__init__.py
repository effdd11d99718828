"""Recordings: definitions and objects of a cluster or a store in one archive, without secrets.

Owns the form of archives, redaction and anonymization. Must not judge objects, and must not write to a cluster or a store. Has no
counterpart in Kubernetes.
"""
