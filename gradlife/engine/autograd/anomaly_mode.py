"""Anomaly mode: nodes remember where they were made, and a failing backward names its forward operation."""

from __future__ import annotations

import warnings

from gradlife import _engine


class set_detect_anomaly:
    """Switch anomaly mode for all threads: at once, and back at the end of a ``with`` block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = _engine.is_anomaly_enabled()
        self.prev_check_nan = _engine.is_anomaly_check_nan_enabled()
        _engine.set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _engine.set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly:
    """Records the stack of every node made inside; with ``check_nan``, a backward that yields NaN raises RuntimeError."""

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = _engine.is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = _engine.is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _engine.set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *_: object) -> None:
        _engine.set_anomaly_enabled(self.prev, self.prev_check_nan)
