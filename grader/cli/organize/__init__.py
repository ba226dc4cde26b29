"""Run competitions: create, change, announce, rescore, close, export, here or on another machine."""
