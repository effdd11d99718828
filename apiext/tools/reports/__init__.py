"""Reports in the forms of output that commands have: lines on a console, JUnit XML, members of a JSON document.

Must not know what is reported: plans, replays, suites and commands say that.
"""
