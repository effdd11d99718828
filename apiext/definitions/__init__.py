"""The set of custom resource definitions: what they are, which are valid, which names they hold, and what became of them.

Owns the v1 type and its wire form, its defaults and validation, the catalogue that the rest of the server looks definitions up in,
the controllers that keep a definition's conditions and end it, and the sources definitions come from. Must not know HTTP, nor serve
anything.
Mirrors apiextensions-apiserver pkg/apis/apiextensions, pkg/apihelpers and pkg/controller.
"""
