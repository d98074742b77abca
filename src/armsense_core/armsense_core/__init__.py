"""All mathematics of armsense: model, drives, observers, control, identification. No ROS."""
