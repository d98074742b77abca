"""Motor boards and load cells: bytes, transports, the arbiter, emulated boards. No ROS."""
