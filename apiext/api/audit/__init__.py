"""Audit: which requests are recorded, the events about them, and the backends that store or send events.

Owns policies, events, their JSON, files and batches. Must not know HTTP requests and responses: filters/auditing fills the events.
Mirrors k8s.io/apiserver/pkg/audit, pkg/apis/audit and plugin/pkg/audit.
"""
