"""The conditional learner: one score of orders in nats, searched and sampled; see algorithm.py first."""
