"""Estimates of the work of a request, in seats.

Must not know queues or priority levels. Mirrors apiserver pkg/util/flowcontrol/request.
"""
