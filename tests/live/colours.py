#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The page's colours are those that samoverlay draws."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
page = re.findall(r"'#([0-9a-f]{6})'", (ROOT / 'pipelines/live/page/colours.js').read_text())
overlay = re.findall(r'0x([0-9a-f]{6})', (ROOT / 'gst/common/gstsampalette.h').read_text())
print(f'page {page}\noverlay {overlay}')
sys.exit(not overlay or page != overlay)
