"""What tests and the commands of hack/ share: programs of the reference, processes, certificates.

Nothing here knows how apiext works inside; it starts programs and hands out addresses and credentials. `binaries`,
`golang` and `provide` use the standard library only, since they run before a virtual environment exists.
"""
