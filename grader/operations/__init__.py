"""What operators do: backups, restore, schema, doctor."""
