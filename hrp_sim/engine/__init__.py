"""The Engine interface and its data: settings, state, contact points, materials, snapshots."""
