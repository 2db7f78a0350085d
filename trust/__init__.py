"""Programs that try to break dagtune: mutants of its source, fuzzed commands and files, kills; see docs/promises.md."""
