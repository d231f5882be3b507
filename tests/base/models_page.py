#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/MODELS.md is what tests/bench/models.py makes of its figures, and no model lacks any.
usage: models_page.py SOURCES"""
import importlib.util
import pathlib
import sys


def main(sources):
    spec = importlib.util.spec_from_file_location('models', sources / 'tests' / 'bench' / 'models.py')
    models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    kept = models.read()
    missing = [name for name in models.MODELS if name not in kept]
    if missing:
        sys.exit(f'{missing[0]} has no figures in models.json')
    if (sources / 'docs' / 'MODELS.md').read_text() != models.page():
        sys.exit('docs/MODELS.md differs from what `tests/bench/models.py page` prints')
    print(f'{len(kept)} models')


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
