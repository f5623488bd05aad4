"""Pictures of a fitted rate and of a calibration, as PNG or SVG; the only place that draws.

Matplotlib is the extra `plot`, loaded when something is drawn. Numbers come from `chronofy_kg.decay.curves`
and from `calibrate`; nothing is reckoned here.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from chronofy_kg.answer.reliability import Calibration
from chronofy_kg.decay.curves import Curve
from chronofy_kg.errors import InputError

__all__ = ["PictureForm", "draw_calibration", "draw_curve", "picture_form"]

PictureForm: TypeAlias = Literal["png", "svg"]
_SEEN, _FITTED = "#1b6ca8", "#c0392b"
_MOST_TYPES = 9
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def picture_form(path: str) -> PictureForm:
    """Return the form of a picture by the ending of its file.

    Raises:
        InputError: it ends neither in .png nor in .svg.
    """
    if path.endswith(".png"):
        return "png"
    if path.endswith(".svg"):
        return "svg"
    raise InputError(f"{path}: a plot is written as .png or .svg")


def draw_curve(row: Mapping[str, Any], curve: Curve, form: PictureForm) -> bytes:
    """Return the picture of a fact type: what its history shows at each age, and the fitted curve.

    Args:
        row: the fact type, as `FactType.to_dict` gives it.
        curve: points and line.
        form: png or svg.
    """

    def draw(axes: Any) -> None:
        below, above = curve.seen - curve.low, curve.high - curve.seen
        axes.fill_between(
            curve.line_age, curve.line_low, curve.line_high, color=_FITTED, alpha=0.15, linewidth=0,
            label="its 95 % interval",
        )  # fmt: skip
        axes.plot(curve.line_age, curve.line, color=_FITTED, label="fitted")
        axes.errorbar(
            curve.age, curve.seen, yerr=[below.clip(0), above.clip(0)], fmt="o", color=_SEEN, markersize=4,
            linewidth=1, label="seen, with 95 %",
        )  # fmt: skip
        axes.set_xlabel(f"age, {_UNITS.get(curve.unit, curve.unit)}")
        axes.set_ylabel(curve.what)
        axes.set_xlim(left=0)
        axes.set_ylim(min(0.0, float(curve.seen.min(initial=0.0))) - 0.02, 1.05)
        axes.legend(frameon=False)
        axes.set_title(
            f"{row['name']} ({row['kind']}, {row['status']})\n{_rate(row)}", loc="left", fontsize=10
        )

    return _picture([draw], form, 1)


def draw_calibration(tables: Sequence[Calibration], form: PictureForm) -> bytes:
    """Return the reliability diagram of some tables, a panel each: seen against claimed, area by count."""
    shown = [t for t in tables if t.count][:_MOST_TYPES]

    def panel(table: Calibration) -> Callable[[Any], None]:
        def draw(axes: Any) -> None:
            most = max(one.count for one in table.bins)
            axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--")
            axes.plot([b.claimed for b in table.bins], [b.seen for b in table.bins], color=_SEEN, linewidth=1)
            axes.scatter(
                [b.claimed for b in table.bins], [b.seen for b in table.bins], color=_SEEN,
                s=[8 + 90 * b.count / most for b in table.bins], clip_on=False,
            )  # fmt: skip
            axes.set_xlim(0, 1)
            axes.set_ylim(min(0.0, max(-1.0, min(b.seen for b in table.bins))), 1)
            axes.set_xlabel("validity claimed")
            axes.set_ylabel("share that was still true, or explained")
            title = f"{table.name}: error {table.error:.3f}, {table.count:,} claims"
            axes.set_title(title, loc="left", fontsize=10)

        return draw

    return _picture([panel(table) for table in shown], form, min(3, max(len(shown), 1)))


def _rate(row: Mapping[str, Any]) -> str:
    """Return the rate in force, in words."""
    high = "inf" if row["beta_high"] is None else f"{row['beta_high']:.3g}"
    told = f"in force: beta {row['beta']:.3g} per day [{row['beta_low']:.3g}, {high}], {row['beta_from']}"
    life = row["half_life_days"]
    return told + ("" if life is None else f", half-life {life:.3g} d")


def _picture(panels: Sequence[Callable[[Any], None]], form: PictureForm, across: int) -> bytes:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plots need matplotlib: pip install 'chronofy-kg[plot]'") from None
    down = -(-len(panels) // across) if panels else 1
    # Texts stay texts, and the same numbers are the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "chronofy-kg", "font.size": 9}):
        figure = Figure(figsize=(6.4 if across == 1 else 4.2 * across, 4.4 * down), layout="constrained")
        for number, one in enumerate(panels, start=1):
            axes = figure.add_subplot(down, across, number)
            axes.spines[["top", "right"]].set_visible(False)
            one(axes)
        stream = io.BytesIO()
        figure.savefig(stream, format=form, dpi=130, metadata={"Date": None} if form == "svg" else None)
    return stream.getvalue()
