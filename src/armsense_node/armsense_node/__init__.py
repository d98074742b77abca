"""What every node stands on: loop, lifecycle, parameters, health, quality of service."""
