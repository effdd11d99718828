"""Discovery and OpenAPI beside those of the reference."""
