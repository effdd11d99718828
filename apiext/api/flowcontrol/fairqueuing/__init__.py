"""Fair queuing of the requests of a priority level.

Owns queues, virtual time and seats. Must not know users, FlowSchemas or HTTP. Mirrors apiserver pkg/util/flowcontrol/fairqueuing.
"""
