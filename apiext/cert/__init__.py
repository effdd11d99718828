"""Certificates as PEM texts: what they say, new ones, and when the next one is due.

Owns the making of keys and certificates. Must not know where they are kept: files are server/tls's, Secrets the operator's.
Mirrors k8s.io/client-go/util/cert and k8s.io/client-go/util/keyutil.
"""
