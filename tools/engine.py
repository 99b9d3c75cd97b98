#!/usr/bin/env python3
"""Packs the simulator's module for the page where one can play: as a script, since a page that is
opened from a disk may load no other file.

    tools/engine.py MODULE.wasm SCRIPT.js
"""

import base64
import gzip
import sys
from pathlib import Path

HEAD = (
    "// The simulator as WebAssembly, packed by gzip and written as base64. `make wasm` makes it.\n"
)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    module, script = map(Path, sys.argv[1:])
    packed = base64.b64encode(gzip.compress(module.read_bytes(), 9, mtime=0)).decode()
    script.write_text(f'{HEAD}const ENGINE = "{packed}";\n')


if __name__ == "__main__":
    main()
