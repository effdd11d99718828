"""Custom resources: the strategies of the resource and its subresources `status` and `scale`, and its codec.

Must not know HTTP, and must not know how versions are converted. Mirrors apiextensions-apiserver pkg/registry/customresource.
"""
