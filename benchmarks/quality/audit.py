"""What users install with the package: known vulnerabilities, and licences by their metadata.

These are the dependencies of the package and of its extras for users, and theirs in turn, in the
versions installed here. pip-audit asks a service for vulnerabilities; what it cannot look up is
told, and the licences are listed all the same.
"""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("all",)  # which names the others for users


def installed(name, extras=()):
    """Distributions that another needs, by their names; itself first."""
    found, waiting = {}, [(name, frozenset(extras))]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            print(f"{name}: is not installed, so it is not audited")
            continue
        for line in found[name].requires or ():
            needed = Requirement(line)
            if needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            ):
                waiting.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    return found


def licence(one):
    """Licence of a distribution, as short as its metadata tell it; or the title of its file."""
    told = one.metadata.get("License-Expression")
    prefix = "License :: OSI Approved :: "
    classifiers = one.metadata.get_all("Classifier", [])
    names = [line.removeprefix(prefix) for line in classifiers if line.startswith(prefix)]
    text = (one.metadata.get("License") or "").strip()
    for file in [] if told or names or text else one.metadata.get_all("License-File", []):
        text = text or (one.read_text(f"licenses/{file}") or one.read_text(file) or "").strip()
    return told or ", ".join(names) or (text or "not told").splitlines()[0]


def audited(distributions):
    """What pip-audit tells of each distribution: its `vulns`, or why it was skipped."""
    pins = "".join(f"{name}=={one.version}\n" for name, one in distributions.items())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text(pins, encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(path), "--no-deps"]
        command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
        said = subprocess.run([*command, "--timeout", "10"], capture_output=True, text=True)
    try:
        return json.loads(said.stdout)["dependencies"]
    except ValueError:
        reason = (said.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
        return [{"name": name, "skip_reason": reason} for name in distributions]


def main():
    found = installed("separatrix", EXTRAS)
    del found["separatrix"]
    print(f"{'package':24} {'version':14} licence")
    for name, one in sorted(found.items()):
        print(f"{name:24} {one.version:14} {licence(one)}")
    print()
    told = audited(found)
    # a package that was skipped is not one without vulnerabilities
    skipped = [one for one in told if "skip_reason" in one]
    known = [(one, vulnerability) for one in told for vulnerability in one.get("vulns", ())]
    for one, vulnerability in known:
        mended = ", ".join(vulnerability["fix_versions"]) or "no version"
        print(f"{one['name']} {one['version']}: {vulnerability['id']}, mended in {mended}")
    n_looked_up = len(told) - len(skipped)
    print(f"vulnerabilities: {len(known)} known in {n_looked_up} of {len(told)} packages")
    if skipped:
        print(f"not looked up: {len(skipped)}, such as {skipped[0]['skip_reason']}")
    if n_looked_up == 0:
        print("the service cannot be reached: nothing is known of vulnerabilities")
    return int(bool(known))


if __name__ == "__main__":
    sys.exit(main())
