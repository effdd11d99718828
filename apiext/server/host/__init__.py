"""Clients of the host cluster: definitions, TokenReview, SubjectAccessReview and the front proxy's configuration."""
