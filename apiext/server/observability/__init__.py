"""The server's log and traces.

Owns their formats and where they go; metrics belong to the code that they measure. Mirrors component-base/{logs,tracing}.
"""
