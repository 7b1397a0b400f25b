"""Measure the tool language."""

import sys

from benchmarks.tools.measuring import main

sys.exit(main())
