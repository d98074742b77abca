"""Recorded signals: clocks, gaps, filters, smooth motions."""
