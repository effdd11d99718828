"""The plan of a release: what happens when definitions replace others, and in which order it is safe.

It joins the comparison of definitions, the judgement of objects and the order of the steps, and writes the result as text, JSON,
Markdown, JUnit XML or a shell script. This wing must not open sources, and must not write to a server.
"""
