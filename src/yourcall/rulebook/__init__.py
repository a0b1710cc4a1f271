"""Rules at the edge: their files, the ground they stand on, and the book that answers by them."""
