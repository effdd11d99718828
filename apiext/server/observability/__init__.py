"""The server's log and traces.

Owns their formats and outputs; metrics belong to the measured code. Mirrors component-base/{logs,tracing}.
"""
