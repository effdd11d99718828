"""Bounded work on one event loop: slices, small requests, limits of inline work, tasks, calls of jobs, and the work queue.

Owns when work runs and how long it may hold the event loop; README.md explains it on one page. Must not know what the work is about.
Mirrors client-go util/workqueue; the rest stands in for Go's preemptive scheduler.
"""
