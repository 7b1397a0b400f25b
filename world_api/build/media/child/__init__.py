"""The process that decodes: it reads files from anywhere, and may die of them without taking anybody along.

::

    parent --stdin--> one JSON request a line, and the numbers of slots that are free again
    child --stdout--> one JSON message a line, some followed by raw bytes; frames lie in shared memory slots
"""
