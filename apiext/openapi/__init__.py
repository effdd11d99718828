"""The OpenAPI documents that clients explain, validate and generate code from: v3 for each group and version, v2 for all.

Owns schemas of built-in types (data/), the conversion of a CRD's schemas to OpenAPI, and the handler.
Must not validate objects: that is the schema room. Documents are made when asked for, never at start-up.
Mirrors apiextensions-apiserver/pkg/controller/openapi and k8s.io/kube-openapi (builder, builder3, handler, handler3).
"""
