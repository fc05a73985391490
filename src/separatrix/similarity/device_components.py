"""Connected components of a graph on a device, by sorts and steps from node to node."""

from separatrix._sklearn import namespace_of


def components_on_device(starts, columns, is_link):
    """Number of the component of each node of a symmetric graph: that of its first node.

    In each round, every component that is known so far joins the one of the lowest number next to
    it, so that few rounds are needed.

    Parameters
    ----------
    starts, columns : array of int
        The graph in compressed rows.
    is_link : array of bool of shape (n_entries,)
        Which entries connect nodes.

    Returns
    -------
    labels : array of int of shape (n_nodes,)
    """
    xp, device = namespace_of(starts)
    n_nodes = starts.shape[0] - 1
    entries = xp.arange(columns.shape[0], dtype=starts.dtype, device=device)
    rows = (xp.searchsorted(starts, entries, side="right") - 1)[is_link]
    columns = columns[is_link]
    nodes = xp.arange(n_nodes, dtype=starts.dtype, device=device)
    labels = nodes
    while True:
        # 1) the lowest number next to each component
        here, there = xp.take(labels, rows), xp.take(labels, columns)
        lowest = lowest_of_each(nodes, here, there)
        lowest = xp.where(lowest < nodes, lowest, nodes)
        # 2) follow these numbers to the lowest that they lead to
        while True:
            following = xp.take(lowest, lowest)
            if not bool(xp.any(following != lowest)):
                break
            lowest = following
        found = xp.take(lowest, labels)
        if not bool(xp.any(found != labels)):
            return labels
        labels = found


def lowest_of_each(nodes, keys, values):
    """Lowest of the values with each key, from 0 to a number below that of nodes.

    Keys without values have the number of nodes.
    """
    xp, _ = namespace_of(nodes)
    n_nodes = nodes.shape[0]
    if keys.shape[0] == 0:
        return xp.full_like(nodes, n_nodes)
    pairs = xp.sort(keys * n_nodes + values)
    first = xp.searchsorted(pairs, nodes * n_nodes)
    pair = xp.take(pairs, xp.where(first < pairs.shape[0], first, 0))
    has_any = (first < pairs.shape[0]) & (pair // n_nodes == nodes)
    return xp.where(has_any, pair % n_nodes, n_nodes)
