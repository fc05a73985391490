"""What tests and benchmarks of model files share: files with other contents, and damaged ones."""

import zipfile

from separatrix.cli import models


def repacked(path, changes, *, sealed=True):
    """The archive with members changed, and a checksum that fits unless it is not `sealed`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | changes
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if name != models.CHECKSUM or not sealed:
                archive.writestr(name, content)
        if sealed:
            archive.writestr(models.CHECKSUM, models._digest(archive))
    return path


def damaged(data, rng):
    """A copy of bytes that something happened to: some were changed, lost or put elsewhere."""
    data = bytearray(data)
    at, length = rng.randrange(len(data)), rng.randrange(1, 200)
    match rng.choice(["changed", "cut", "zeroed", "lost", "repeated"]):
        case "changed":
            for _ in range(rng.choice([1, 1, 4, 20])):
                data[rng.randrange(len(data))] = rng.randrange(256)
        case "cut":
            del data[at:]
        case "zeroed":
            data[at : at + length] = bytes(len(data[at : at + length]))
        case "lost":
            del data[at : at + length]
        case "repeated":
            data[at:at] = data[at : at + length]
    return bytes(data)
