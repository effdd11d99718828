"""The reference's own integration suite as a black box: apiext must pass what passing.txt lists."""
