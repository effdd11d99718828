"""The registry, over a real store in a file."""
