"""armsense, the library: everything that can be computed without ROS, floor by floor."""
