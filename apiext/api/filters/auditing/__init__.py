"""The filters that record requests as audit events; imported only with audit.

Owns what a request's event says of its client, its time and its answer. Only `usual_reads` knows that they become
lines of a log.
Mirrors apiserver pkg/endpoints/filters/audit.go, audit_init.go and authn_audit.go.
"""
