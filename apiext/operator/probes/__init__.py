"""The endpoints of the operator for probes and for Prometheus.

Owns /healthz, /livez, /readyz and /metrics of `apiext operate`, over plain HTTP: they name groups and definitions, but no objects. Must
change nothing; it reads what apiext.operator.statistics shows. Nothing of it is imported without --metrics-bind-address.
"""
