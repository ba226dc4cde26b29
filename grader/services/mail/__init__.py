"""E-mail outbox: mail is written in the transaction and sent by the mailer."""
