"""Side-by-side ratios. `python -m benchmarks` measures and rewrites BENCHMARKS.md; see __main__.py."""
