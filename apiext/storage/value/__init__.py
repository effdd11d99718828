"""Encryption at rest: transforms values between their stored form and the bytes of objects.

Owns the EncryptionConfiguration, the providers and their prefixes `k8s:enc:...`, and the Backend that applies them. Nothing is imported
without such a configuration. Must not implement ciphers: they come from libraries. Mirrors k8s.io/apiserver/pkg/storage/value and
pkg/server/options/encryptionconfig.
"""
