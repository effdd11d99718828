"""The status of Conversion objects: what the check finds, and whether a server converts by the rules.

Must not read or write objects itself: servers hand over what a cluster has, and write the status.
"""
