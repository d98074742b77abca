"""Web monitor, RViz markers, tf and robot_description where robot_state_publisher is missing."""
