"""Built-in kinds on both servers."""
