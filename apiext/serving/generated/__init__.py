"""Endpoints, subresources and Table columns of the kinds from generated data.

Must not be imported without the flag --builtin-kinds. Mirrors kubernetes pkg/printers/internalversion and pkg/registry/*/*/storage.
"""
