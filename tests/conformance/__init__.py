"""The reference's own integration suite as a black-box test: apiext must pass the tests listed in passing.txt."""
