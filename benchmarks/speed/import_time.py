"""Import time of the package beside scikit-learn's cluster module, in fresh processes."""

import statistics
import subprocess
import sys
import time

STATEMENTS = {
    "nothing": "pass",
    "import numpy": "import numpy",
    "import sklearn.cluster": "import sklearn.cluster",
    "import separatrix": "import separatrix",
    "its first estimator": "from separatrix import MaximinSeparationClustering",
}


def main(repeats=7):
    times = {name: [] for name in STATEMENTS}
    for _ in range(repeats):
        for name, statement in STATEMENTS.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            times[name].append(time.perf_counter() - begin)
    start = statistics.median(times["nothing"])
    peer = statistics.median(times["import sklearn.cluster"]) - start
    print(f"\nImport time beyond an empty process ({start:.3f} s), median of {repeats}")
    for name in list(STATEMENTS)[1:]:
        spent = statistics.median(times[name]) - start
        print(f"  {name:24s} {spent:7.3f} s   {spent / peer:5.2f} x sklearn.cluster")


if __name__ == "__main__":
    main()
