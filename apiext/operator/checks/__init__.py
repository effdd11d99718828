"""The hops between a client of the host and an object in apiext's store, each looked at by one small function.

Owns what can be broken on the way, why, and what to do about it; a function takes a Look and a group and returns a Verdict. Must not
change anything anywhere, nor import kopf: the doctor walks these hops in a second, the operator whenever it wonders.
"""
