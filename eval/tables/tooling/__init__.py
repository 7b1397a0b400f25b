"""The tables of tool libraries: their use, their funnel, their making, their draws."""
