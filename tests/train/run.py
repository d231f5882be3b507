#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of tools/train. Exit status 77 (skipped) where its requirements are not installed."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../tools/train")]

try:
    import cv2
    import torch
    import transformers  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}; pip install -r tools/train/requirements.txt")
    sys.exit(77)

# Beside other work more threads are slower: they wait for each other in turn.
torch.set_num_threads(1)
cv2.setNumThreads(1)

if __name__ == "__main__":
    suite = unittest.defaultTestLoader.discover(HERE, "test_*.py")
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
