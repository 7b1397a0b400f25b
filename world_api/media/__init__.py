"""Reading video files: probing, the decode pass, frames and sound by time, subtitles.

Files may be hostile, so a child process decodes them within ``Limits``; this process reads frames from shared memory and
everything else from a pipe. A decoder that dies or stalls is restarted, and what was lost is reported as a ``LossNote``.
"""
