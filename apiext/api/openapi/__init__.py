"""OpenAPI documents: v3 for each group and version, v2 for all of them.

Owns schemas of built-in types (data/), the conversion of a CRD's schemas to OpenAPI, and the handler.
Must not validate objects: the schema room does. The first request for a document builds it, never the start of the server.
Mirrors apiextensions-apiserver/pkg/controller/openapi and k8s.io/kube-openapi (builder, builder3, handler, handler3).
"""
