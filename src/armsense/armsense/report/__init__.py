"""The report of an identification: words, figures, page, JSON."""
