"""Storage of an installation: blobs, disk caches, free space."""
