"""Tokens of service accounts: keys, JSON Web Tokens, their claims and their authentication.

Must not know HTTP, nor the store: it gets functions that look up service accounts and secrets.
Mirrors kubernetes pkg/serviceaccount.
"""
