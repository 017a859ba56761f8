"""Where the scales or sizes of a resize come from."""
