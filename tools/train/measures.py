# SPDX-License-Identifier: MIT
"""Region similarity J and boundary accuracy F, as the DAVIS benchmark measures them."""

import cv2
import numpy as np


def region(found, truth):
    union = np.count_nonzero(found | truth)
    return np.count_nonzero(found & truth) / union if union else 1.0


def outline(mask):
    """Pixels whose right, lower or lower right neighbour differs; one pixel thick."""
    edge = np.zeros_like(mask)
    edge[:, :-1] |= mask[:, :-1] != mask[:, 1:]
    edge[:-1] |= mask[:-1] != mask[1:]
    edge[:-1, :-1] |= mask[:-1, :-1] != mask[1:, 1:]
    return edge


def boundary(found, truth, tolerance=0.008):
    """F of the outlines, matched within `tolerance` of the image diagonal."""
    radius = int(np.ceil(tolerance * np.hypot(*truth.shape)))
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    disk = (x * x + y * y <= radius * radius).astype(np.uint8)
    a, b = outline(found), outline(truth)
    if not a.any() or not b.any():
        return float(a.any() == b.any())
    near_a, near_b = (cv2.dilate(m.astype(np.uint8), disk) > 0 for m in (a, b))
    precision = np.count_nonzero(a & near_b) / np.count_nonzero(a)
    recall = np.count_nonzero(b & near_a) / np.count_nonzero(b)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
