"""Small everyday plots. Each is a generator: it asks for a scene in a room, plays it when it is given one, and asks again."""
