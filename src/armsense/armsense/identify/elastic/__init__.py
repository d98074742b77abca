"""Arms with a spring in every joint."""
