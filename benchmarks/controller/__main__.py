"""Measure the loop of the controller."""

import sys

from benchmarks.controller.measuring import main

sys.exit(main())
