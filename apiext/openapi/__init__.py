"""OpenAPI documents: v3 for each group and version, v2 for all of them.

Owns schemas of built-in types (data/), the conversion of a CRD's schemas to OpenAPI, and the handler.
Must not validate objects: the schema room does. A document is built with its first request, never at start-up.
Mirrors apiextensions-apiserver/pkg/controller/openapi and k8s.io/kube-openapi (builder, builder3, handler, handler3).
"""
