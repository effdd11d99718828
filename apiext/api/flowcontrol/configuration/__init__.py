"""FlowSchemas and PriorityLevelConfigurations: their types and defaults, and the classification of requests by them.

Must not know queues or seats. Mirrors apiserver pkg/apis/flowcontrol and the matching of pkg/util/flowcontrol.
"""
