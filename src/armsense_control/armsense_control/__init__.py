"""Controller nodes: independent joints, computed torque, elastic joints, reactions."""
