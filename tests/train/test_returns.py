# SPDX-License-Identifier: MIT
"""What counts as told, found again, and taken by a twin; on label maps that are painted here."""

import unittest

import numpy as np
import returns

LEAVES, BACK = 40, 90
BOX = (65, 125, 70, 185)


def painted(first=BACK, where=BOX, until=LEAVES, twin=()):
    """Label maps in which bottle 1 stands until a frame, and again from `first` on in the box `where`; in `twin`, on bottle 2."""
    maps = np.zeros((140, *returns.SIZE[::-1]), np.uint8)

    def fill(frames, box, value=1):
        x, y, w, h = box
        maps[frames.start : frames.stop, y : y + h, x : x + w] = value

    fill(range(until), returns.BOTTLES[0][0])
    fill(range(first, 140), where)
    if twin:
        fill(twin, returns.BOTTLES[1][0])
    return maps


def judged(maps):
    return returns.absence(maps, 0, LEAVES, BACK, BOX)


class Absence(unittest.TestCase):
    def test_told_and_found_at_once(self):
        row = judged(painted())
        self.assertEqual((row["told"], row["found"], row["taken"]), (0, 0, False))

    def test_late(self):
        row = judged(painted(first=BACK + 30, until=LEAVES + 10))
        self.assertEqual((row["told"], row["found"]), (10, 30))

    def test_too_late(self):
        row = judged(painted(first=BACK + 31, until=LEAVES + 11))
        self.assertEqual((row["told"], row["found"]), (None, None))

    def test_elsewhere_is_not_found(self):
        self.assertIsNone(judged(painted(where=(300, 125, 70, 185)))["found"])

    def test_a_piece_is_not_found(self):
        self.assertIsNone(judged(painted(where=(65, 125, 70, 60)))["found"])

    def test_most_of_it_elsewhere_is_not_found(self):
        self.assertIsNone(judged(painted(where=(65, 125, 160, 185)))["found"])

    def test_a_twin_is_taken_for_a_while(self):
        for frames, taken in ((60, True), (59, False)):
            self.assertIs(judged(painted(twin=range(50, frames)))["taken"], taken)


if __name__ == "__main__":
    unittest.main()
