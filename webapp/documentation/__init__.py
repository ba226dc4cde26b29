"""Documentation: a build command for the static pages of the chapters in docs/, and their URLs."""
