"""Counts the calls of apiext's functions that a request takes: `hack/journeys`."""
