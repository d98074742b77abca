"""Published tables, reproduced with simulated arms."""
