"""The environment of `make real`: it borrows torch and gradlife from the developer's, and has public libraries of its own."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / "build" / "real" / "venv"
PYTHON = ENVIRONMENT / "bin" / "python"
#: torchvision is built for one torch, and not for that of constraints.txt. timm and fastai require it and are left out.
REFUSED = Path(__file__).with_name("refused.txt")
#: As the package index calls them. What cannot be installed beside the pinned torch is said, and its programs are skipped.
LIBRARIES = (
    *("transformers", "accelerate", "peft", "lightning", "torchmetrics", "pytorch-ignite", "skorch"),
    *("stable-baselines3", "torch_geometric", "pyro-ppl", "gpytorch", "botorch", "monai", "captum", "shap"),
    *("diffusers", "x-transformers", "torchdiffeq", "einops"),
)


def make_environment() -> None:
    """Make the environment, with the packages of this interpreter below its own."""
    venv.create(ENVIRONMENT, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    borrowed = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (ENVIRONMENT / "lib" / version / "site-packages" / "borrowed.pth").write_text(borrowed, encoding="utf-8")


def install(library: str) -> str:
    """Install a library; nothing may replace what is pinned. Return what pip says where it cannot."""
    pip = [sys.executable, "-m", "pip", "--python", str(PYTHON), "--disable-pip-version-check", "install", "--quiet"]
    command = [*pip, "--constraint", str(ROOT / "constraints.txt"), "--constraint", str(REFUSED), library]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")]
    return (errors[-1] if errors else f"exit status {ended.returncode}") if ended.returncode else ""


def main() -> int:
    """Install what is not there yet; a file of stamps remembers what was tried."""
    if not PYTHON.exists():
        make_environment()
    tried = ENVIRONMENT / "tried.txt"
    before = tried.read_text(encoding="utf-8").split("\n") if tried.exists() else []
    for library in LIBRARIES:
        if not any(line.partition(":")[0] == library for line in before):
            said = install(library)
            print(f"{library}: {said or 'installed'}", file=sys.stderr)
            with tried.open("a", encoding="utf-8") as file:
                file.write(f"{library}: {said}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
