"""Role-based access control: rules, the index of roles and bindings, and the check against escalation.

Owns decisions over plain objects in memory. Must not know HTTP, nor the store.
Mirrors plugin/pkg/auth/authorizer/rbac, pkg/apis/rbac/v1 and pkg/registry/rbac/validation of kubernetes.
"""
