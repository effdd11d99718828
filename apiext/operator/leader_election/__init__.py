"""Leader election with a Lease, and the work of the leader."""
