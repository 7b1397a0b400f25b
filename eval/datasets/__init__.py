"""Questions with their reference answers, from others' benchmarks and from files of one's own."""
