"""APIServices of the host: the wanted ones of a group, their owners, and writes."""
