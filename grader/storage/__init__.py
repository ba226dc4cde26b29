"""Storage of an installation: blobs, disk caches and disk space."""
