"""The version map: a page that shows the versions of every definition, with what is stored in them, and its live data.

Collects what other rooms know. Works only while somebody looks, and shares the work among all who do. Names of objects are for users who
may list them; everything else is for all who may read the page. Must not write anything.
"""
