"""Long runs of several servers under clients and faults, with proof that no client saw anything wrong.

The clients of `register_client`, `lister` and hack.lib.soak.reflector record what they saw; `faults` and `administrator` act on
the servers of `world` meanwhile; `verdict` judges the records: single objects by a checker of linearizability, lists and watches
by the order of revisions. Nothing here is imported by the package.
"""
