"""The kinds of admissionregistration.k8s.io/v1: their defaults, validation and strategies.

Must not match or call anything: plug-ins of admission apply these objects.
Mirrors kubernetes pkg/registry/admissionregistration and pkg/apis/admissionregistration.
"""
