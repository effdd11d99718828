"""APIServices of the host: which a group needs, which belong to apiext, and the writes that follow."""
