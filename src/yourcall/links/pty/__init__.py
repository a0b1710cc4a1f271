"""Programs that `yourcall run` started in the person's own terminal."""
