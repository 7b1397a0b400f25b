"""The other end of the decoding process (:mod:`world_api.build.media.child`): who starts it, asks it, and ends it."""
