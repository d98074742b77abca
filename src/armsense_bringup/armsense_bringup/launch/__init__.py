"""Launch files without the launch packages of ROS: read, planned, run."""
