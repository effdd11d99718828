"""Unit tests of adoption, with both servers in memory."""
