#!/usr/bin/env python3
"""record.py SITE DRIVE CONFIGS OUT: what the original writes for a file of configurations, as a .tar.gz.

SITE holds torchgen/ (an installed torch wheel; PyYAML and typing_extensions must be importable). DRIVE calls what
torchgen has no command line for. The archive has every distinct file, named by its sha256, and MANIFEST with lines
`sha256  config  path`. The original runs in a copy of this folder.
"""
import gzip, hashlib, io, os, shlex, shutil, subprocess, sys, tarfile, tempfile

sys.dont_write_bytecode = True


def configs(path):
    found = []
    for line in open(path):
        word, _, rest = line.strip().partition(" ")
        if word == "config":
            found.append({"name": rest})
        elif word:
            found[-1][word] = rest.strip()
    return found


def prepare(here, site, drive, tree):
    """The packaged layout: gen_backend_stubs takes operators and templates from beside torchgen."""
    shutil.copytree(here, tree)
    shutil.copy(drive, os.path.join(tree, "drive.py"))
    os.symlink(os.path.join(os.path.abspath(site), "torchgen"), os.path.join(tree, "torchgen"))
    os.makedirs(os.path.join(tree, "aten", "src"))
    os.symlink("..", os.path.join(tree, "aten", "src", "ATen"))
    packaged = os.path.join(os.path.abspath(site), "torchgen", "packaged", "autograd")
    for f in os.listdir(packaged):
        if f.endswith(".py"):
            os.symlink(os.path.join(packaged, f), os.path.join(tree, "tools", "autograd", f))


def run(config, tree):
    shutil.rmtree(os.path.join(tree, "out"), ignore_errors=True)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([tree, os.environ.get("PYTHONPATH", "")]), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(shlex.split(config["original"]), cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL)
    for folder, _, files in sorted(os.walk(os.path.join(tree, "out"))):
        for f in sorted(files):
            path = os.path.join(folder, f)
            yield os.path.relpath(path, tree), open(path, "rb").read()


def add(archive, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def main(site, drive, which, out):
    here = os.path.dirname(os.path.abspath(__file__))
    contents, lines = {}, []
    with tempfile.TemporaryDirectory() as tmp:
        tree = os.path.join(tmp, "tree")
        prepare(here, site, drive, tree)
        for config in configs(os.path.join(here, which)):
            for path, data in run(config, tree):
                sha = hashlib.sha256(data).hexdigest()
                contents.setdefault(sha, data)
                lines.append(f"{sha}  {config['name']}  {path}\n")
    with gzip.GzipFile(out, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        add(archive, "MANIFEST", "".join(lines).encode())
        for sha, data in contents.items():
            add(archive, sha, data)


main(*sys.argv[1:])
