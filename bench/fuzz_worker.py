"""One parser under atheris, in a process of its own that ends when the parser fails.

    python -m bench.fuzz_worker MODULE PARSER FOLDER [options of libFuzzer]

MODULE has `targets`; FOLDER gets the corpus, and `failure.txt` if an error is not one of ours.
"""

from __future__ import annotations

import importlib
from pathlib import Path
import sys
import traceback

import atheris

OURS = ['armsense', 'armsense_bringup']
LIBRARIES = ['rosbags', 'yaml']     # in Python, too: what they read decides what we get


def main() -> None:
    module, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    with atheris.instrument_imports(include=[*OURS, *LIBRARIES]):
        fuzzed = importlib.import_module(module)
    target = next(t for t in fuzzed.targets(folder) if t.name == name)
    corpus = folder / 'corpus'
    corpus.mkdir()
    (corpus / 'sample').write_bytes(target.sample)

    def one(data: bytes) -> None:
        try:
            target.parse(data)
        except fuzzed.OURS:
            pass
        except Exception:
            (folder / 'failure.txt').write_text(traceback.format_exc())
            raise

    longest = 2 * len(target.sample) + 64
    atheris.Setup([sys.argv[0], str(corpus), f'-max_len={longest}', *sys.argv[4:]], one)
    atheris.Fuzz()


if __name__ == '__main__':
    main()
