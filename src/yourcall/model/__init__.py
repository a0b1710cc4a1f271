"""The nouns of yourcall, as frozen structs: the same types on disk, on the wire and in the browser."""
