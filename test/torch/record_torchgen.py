#!/usr/bin/env python3
"""Records what torchgen writes for the small operator file of test/gen/torch.

usage: record_torchgen.py SITE    SITE: a folder with torchgen, from a torch wheel (2.15), and typing_extensions

Writes test/data/gen/torch_files.txt.gz, with which test/gen/torch.sh compares: a row `= CONFIG PATH NUMBER` for each
file, and each distinct content once, as `@ NUMBER` (`@ NUMBER -` if the last line has no end) and its lines behind a '|'.
"""
import gzip, os, shlex, subprocess, sys, tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "test", "gen", "torch")
MODULES = {"torch": ["-m", "torchgen.gen", "-s", "ATen", "-d", "out/aten", "--aoti-install-dir", "out/aoti"]}


def configs():
    for line in open(os.path.join(HERE, "configs.txt")):
        if not line.startswith("#"):
            name, _, rest = line.strip().partition(": ")
            yield name, shlex.split(rest)


def outputs(folder):
    for d, _, fs in os.walk(folder):
        for f in fs:
            yield os.path.relpath(os.path.join(d, f), folder), open(os.path.join(d, f)).read()


def run(site, tree, words):
    out = os.path.join(tree, "out")
    subprocess.check_call(["rm", "-rf", out])
    env = dict(os.environ, PYTHONPATH=site, PYTHONHASHSEED="0")
    subprocess.check_call([sys.executable, *MODULES[words[0]], *words[1:]], cwd=tree, env=env, stdout=subprocess.DEVNULL)
    return sorted(outputs(out))


def main():
    rows, contents = [], {}
    with tempfile.TemporaryDirectory() as tree:
        subprocess.check_call(["sh", os.path.join(HERE, "assemble.sh"), tree])
        for name, words in configs():
            if words[0] not in MODULES:
                continue
            for path, text in run(sys.argv[1], tree, words):
                rows.append(f"= {name} {path} {contents.setdefault(text, len(contents))}\n")
    for text, number in contents.items():
        body = text[:-1] if text.endswith("\n") else text
        rows.append(f"@ {number}" + ("\n" if text.endswith("\n") else " -\n"))
        rows += ["|" + line + "\n" for line in body.split("\n")] if text else []
    data = os.path.join(TOP, "test", "data", "gen", "torch_files.txt.gz")
    os.makedirs(os.path.dirname(data), exist_ok=True)
    with open(data, "wb") as f:
        f.write(gzip.compress("".join(rows).encode(), 9, mtime=0))
    print(len(rows), "rows,", len(contents), "contents")


if __name__ == "__main__":
    main()
