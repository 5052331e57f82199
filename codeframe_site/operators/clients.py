"""Who follows events right now, as this web process knows it."""

from codeframe_site.streams import HUB


def connected_clients() -> dict[str, int | float]:
    figures = HUB.figures
    return {
        "open": len(HUB),
        "refused": figures.refused,
        "resyncs": figures.resyncs,
        "sent_away": figures.stuck,
        "newest_event_s": round(figures.lag_s, 3),
    }
