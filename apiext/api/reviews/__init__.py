"""Resources that are answered and never stored: access reviews, token reviews, the requesting user, and tokens of service accounts.

Owns their types, validation and answers. Must not know HTTP.
Mirrors pkg/registry/authorization, pkg/registry/authentication and pkg/apis/authorization/validation of kubernetes.
"""
