"""CustomResourceDefinitions: types, codec, validation, catalog, controllers and sources.

Owns the v1 type and its stored form, defaulting, validation and name acceptance, the informer and the catalog that the rest of the
server reads, the controllers that reconcile the status and finalize definitions, and the sources of definitions other than the API.
Must not know HTTP, and must not serve custom resources.
Mirrors apiextensions-apiserver pkg/apis/apiextensions, pkg/apihelpers and pkg/controller.
"""
