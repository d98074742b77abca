"""What `import armsense` offers: arrays in and out, over the same classes that the nodes run."""
