"""The way of a group's objects from the host to apiext, and back.

Owns the order of the steps, and that every step can be taken again from the beginning. Must not decide about groups that have no definition
on the host, nor remember anything: where a group is on its way is told by the marks on its definitions and mirrors, and its APIServices.
"""
