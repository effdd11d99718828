"""The operator of a cluster in which apiext serves: `apiext operate`.

Owns which groups the host proxies to apiext (APIServices), the way of a group's objects there and back (adoption), what is said of it on
the host (conditions, events), which hop to apiext is broken (hops), the servers' certificate as a Secret of the host (serving), and that
only one of several operators acts (lease). Must not serve anything, nor know how apiext works inside: it talks to the host and to apiext
over HTTP, and to the host's etcd where objects are given back. kopf tells what changes on the host; it writes nothing.
"""
