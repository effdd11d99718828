"""The documentation site: the documents of the repository as pages of Sphinx. It holds no text of its own."""
