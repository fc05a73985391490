"""Colours and markers of clusters, the same in every display."""

__all__ = ["HEAT", "INK", "MUTED", "cluster_color", "cluster_marker", "cluster_name"]

INK = "#22303c"
MUTED = "#6b7680"
FAINT = "#b4bbc1"  # what belongs to no cluster
# Colour map of heat maps: even in lightness, and alike for all kinds of colour vision.
HEAT = "cividis"

# Okabe and Ito's colours, made to be told apart by all kinds of colour vision. The order keeps
# the first three apart in black and white print as well.
_PALETTE = (
    (0, 114, 178),  # blue
    (230, 159, 0),  # orange
    (0, 158, 115),  # bluish green
    (213, 94, 0),  # vermilion
    (204, 121, 167),  # reddish purple
    (86, 180, 233),  # sky blue
    (240, 228, 66),  # yellow
    (60, 60, 60),  # theirs is black, which is the ink of boundaries here
)
_MARKERS = "os^DvPX*"


def cluster_color(cluster):
    """Colour of a cluster as ``#rrggbb``; after eight they return lighter, then darker.

    Outliers, of no cluster, are grey.
    """
    if cluster == -1:
        return FAINT
    turn, position = divmod(int(cluster), len(_PALETTE))
    toward, share = ((0, 0.0), (255, 0.5), (0, 0.45))[turn % 3]
    mixed = (round((1 - share) * channel + share * toward) for channel in _PALETTE[position])
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def cluster_marker(cluster):
    """Marker of a cluster, so that clusters differ not only in colour."""
    if cluster == -1:
        return "."
    turn, position = divmod(int(cluster), len(_PALETTE))
    return _MARKERS[(position + turn) % len(_MARKERS)]


def cluster_name(cluster):
    """Name of a cluster, or of what belongs to none."""
    return "outliers" if cluster == -1 else f"cluster {cluster}"
