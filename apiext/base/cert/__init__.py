"""Certificates in PEM: reading, issuing and renewal.

Owns the creation of keys and certificates. Must not know where they are stored: server/tls has files, the operator Secrets.
Mirrors k8s.io/client-go/util/cert and k8s.io/client-go/util/keyutil.
"""
