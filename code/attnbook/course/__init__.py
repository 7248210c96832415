"""What makes the book and its course material from the chapters; nothing else imports it."""
