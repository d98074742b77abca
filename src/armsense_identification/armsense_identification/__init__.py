"""From a recorded motion to a physically consistent model: actions, bag reading, reports."""
