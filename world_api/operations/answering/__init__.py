"""What the operations share in answering: reading times, finding things, wording, citing."""
