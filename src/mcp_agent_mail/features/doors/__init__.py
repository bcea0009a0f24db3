"""Mail by other systems' ways: their names, their ids, and their way of taking the oldest message away."""
