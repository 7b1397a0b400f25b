"""Reading videos: probing, the one decode pass, random access, subtitles."""
