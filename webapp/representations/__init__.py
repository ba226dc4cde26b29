"""Views: data prepared for templates and JSON."""
