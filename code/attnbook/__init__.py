"""The package behind Attention, Step by Step. Chapters say which module they build."""
