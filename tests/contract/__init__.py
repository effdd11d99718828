"""One suite for everything that implements a seam of storage."""
