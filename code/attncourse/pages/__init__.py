"""What pages state of the chapters: tables, times, plans, claims, questions; and the PDF."""
