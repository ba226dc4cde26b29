"""Blobs, disk caches and paths: where an installation keeps its bytes."""
