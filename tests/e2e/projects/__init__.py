"""Real projects as far as admission knows them: their webhook configurations, and small servers that answer as theirs do."""
