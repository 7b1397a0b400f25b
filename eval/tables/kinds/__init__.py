"""The tables of a run, by what they are about. docs/tables.md says what each may be taken for."""
