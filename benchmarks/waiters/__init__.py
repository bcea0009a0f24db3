"""What a thousand who wait for mail cost, and how soon they are told: `python -m benchmarks.waiters`."""
