"""Endpoints, subresources and Table columns of the kinds from generated data.

Must not be imported without the flag --builtin-kinds, but for a request for Services. Also owns the objects that kube-apiserver makes for
itself. Mirrors kubernetes pkg/printers/internalversion and pkg/registry/*/*/storage, and pkg/controlplane/controller.
"""
