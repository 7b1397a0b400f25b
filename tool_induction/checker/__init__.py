"""The typing pass: what every expression and step is, and what stands implicit written out."""
