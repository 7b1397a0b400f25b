"""Reading videos: decoding in a process of its own, probing, random access, sound and subtitles."""
