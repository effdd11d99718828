"""RBAC of a standalone server: the policy follows the stored roles and bindings, default objects, and aggregated ClusterRoles.

Mirrors kubernetes pkg/registry/rbac/rest, component-helpers auth/rbac/reconciliation and pkg/controller/clusterroleaggregation.
"""
