# Sourced by the commands of hack/: sets `root`, the folder of the checkout, and `python`, a Python from 3.11 to 3.14.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
python=
for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3 python; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "$(basename -- "$0"): needs Python 3.11 to 3.14 on PATH, or its path in PYTHON" >&2
    exit 1
fi
