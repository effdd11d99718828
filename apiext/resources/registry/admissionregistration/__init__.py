"""The kinds of admissionregistration.k8s.io/v1: their Go types, defaults, validation and strategies.

Must not match or call anything: plug-ins of admission apply these objects.
Mirrors kubernetes pkg/registry/admissionregistration, pkg/apis/admissionregistration and the types of k8s.io/api.
"""
