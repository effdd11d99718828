"""Leader election over a Lease, and the work of the leader."""
