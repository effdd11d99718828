"""TLS of the server: certificate files, their rotation, and TLS contexts.

Mirrors k8s.io/apiserver/pkg/server/options (serving.go) and pkg/server/dynamiccertificates. The room `cert` creates certificates.
"""
