"""Random histories of a whole arm, and what must hold in all of them."""
