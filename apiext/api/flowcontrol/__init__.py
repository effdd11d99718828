"""API Priority and Fairness: FlowSchemas, PriorityLevelConfigurations, and the classification of requests by them.

Owns the configuration objects as data (with the mandatory and suggested ones), the classification of requests, and the fair queues of
priority levels. Must not know HTTP, nor the source of the objects. Mirrors k8s.io/apiserver/pkg/util/flowcontrol and
pkg/apis/flowcontrol.
"""
