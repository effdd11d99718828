"""Where definitions come from besides the API.

Owns reading them and noticing changes. Must not write to the store: what is found is handed to a callback.
"""
