"""APIServices of the host: which ones a group needs, which ones apiext owns, and the writes that follow."""
