"""Launch files, arms and robot descriptions, and a launch runner."""
