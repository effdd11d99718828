"""API Priority and Fairness: FlowSchemas, PriorityLevelConfigurations, and the classification of requests by them.

Owns the configuration objects as data, the mandatory and suggested ones, the matching of a user and a request, and the fair queues of
priority levels. Must not know HTTP, nor where the objects come from. Mirrors k8s.io/apiserver/pkg/util/flowcontrol and
pkg/apis/flowcontrol.
"""
