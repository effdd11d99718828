"""HTML pages of one file: the style and the elements that all of them share, and the policy that allows these and nothing else.

Must not know what a page shows.
"""
