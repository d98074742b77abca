"""From filtered columns to parameters: equations, choices, estimators, what is known."""
